use std::mem;

use tollgate::Nanos;

/// Something that happened at a time.
pub trait Timed {
    /// When.
    fn time(&self) -> Nanos;
}

/// Sorts what comes out of order by up to a minute, stably; what comes later than that is told apart.
///
/// Requests wait by the second in which they were made, so one that comes costs the same whatever waits.
///
/// ```
/// use tollgate::Nanos;
/// use tollgate_replay::{Reorder, Timed};
/// struct At(u64);
/// impl Timed for At {
///     fn time(&self) -> Nanos { Nanos::from_secs(self.0) }
/// }
/// let mut reorder = Reorder::new();
/// let mut sorted = Vec::new();
/// for seconds in [100, 140, 90, 170, 115] {
///     assert!(reorder.push(At(seconds), |at| sorted.push(at.0)).is_ok());
/// }
/// // 170 has come, so nothing before 110 is waited for any longer.
/// assert!(reorder.push(At(109), |_| {}).is_err());
/// reorder.finish(|at| sorted.push(at.0));
/// assert_eq!(sorted, [90, 100, 115, 140, 170]);
/// ```
#[derive(Debug)]
pub struct Reorder<T> {
    /// Those of one second are at its number modulo [`RING`].
    seconds: Vec<Vec<T>>,
    /// The second that is told next; all before it were.
    next: u64,
    newest: u64,
    waiting: usize,
    most: usize,
    is_cut: bool,
}

impl<T: Timed> Reorder<T> {
    /// An empty buffer for up to [`MOST_WAITING`].
    pub fn new() -> Self {
        Self::with_room(MOST_WAITING)
    }

    /// An empty buffer. When more than `most` wait the oldest second is told before its minute is over.
    pub fn with_room(most: usize) -> Self {
        let seconds = (0..RING).map(|_| Vec::new()).collect();
        Self { seconds, next: 0, newest: 0, waiting: 0, most, is_cut: false }
    }

    /// Takes one in, and tells those that nothing can come before any more.
    ///
    /// # Errors
    /// If it comes too late: more than [`LATEST`] seconds, in whole ones, before the newest. It is given back.
    pub fn push(&mut self, item: T, mut tell: impl FnMut(T)) -> Result<(), T> {
        let second = item.time().0 / SECOND;
        if second > self.newest {
            self.newest = second;
            self.release(second.saturating_sub(LATEST), &mut tell);
        }
        if second < self.next {
            return Err(item);
        }
        self.at(second).push(item);
        self.waiting += 1;
        if self.waiting > self.most {
            self.is_cut = true;
            while self.waiting > self.most {
                self.release(self.next + 1, &mut tell);
            }
        }
        Ok(())
    }

    /// Tells all that wait.
    pub fn finish(&mut self, mut tell: impl FnMut(T)) {
        self.release(self.newest + 1, &mut tell);
    }

    /// Whether so many came within a minute that some were told before it was over.
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Tells all before a second.
    fn release(&mut self, until: u64, tell: &mut impl FnMut(T)) {
        while self.next < until && self.waiting > 0 {
            let mut second = mem::take(self.at(self.next));
            if !second.is_sorted_by_key(Timed::time) {
                second.sort_by_key(Timed::time);
            }
            self.waiting -= second.len();
            for item in second.drain(..) {
                tell(item);
            }
            // Its memory is used again.
            *self.at(self.next) = second;
            self.next += 1;
        }
        self.next = self.next.max(until);
    }

    fn at(&mut self, second: u64) -> &mut Vec<T> {
        let index = usize::try_from(second % RING).unwrap_or_default();
        &mut self.seconds[index]
    }
}

impl<T: Timed> Default for Reorder<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// How many seconds before the newest one may come.
pub const LATEST: u64 = 60;
/// How many may wait: two million are 35,000 requests a second for a minute, and 80 MB.
pub const MOST_WAITING: usize = 2_000_000;
const RING: u64 = 64;
const SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Item(u64, usize);

    impl Timed for Item {
        fn time(&self) -> Nanos {
            Nanos(self.0)
        }
    }

    fn sorted(items: &[Item], mut reorder: Reorder<Item>) -> (Vec<Item>, Vec<Item>) {
        let (mut told, mut late) = (Vec::new(), Vec::new());
        for item in items {
            late.extend(reorder.push(*item, |item| told.push(item)).err());
        }
        reorder.finish(|item| told.push(item));
        (told, late)
    }

    /// Times that mostly go on, by steps from nothing to hours, each up to two minutes late.
    fn items(latest: u64) -> impl Strategy<Value = Vec<Item>> {
        let step = prop_oneof![8 => 0..2_000_000_000_u64, 2 => 0..90_000_000_000_u64, 1 => 0..40_000_000_000_000_u64];
        vec((step, 0..latest * SECOND), 0..200).prop_map(|steps| {
            let mut now = 1_431_857_103 * SECOND;
            let at = |(index, (step, late)): (usize, &(u64, u64))| {
                now += step;
                Item(now - late, index)
            };
            steps.iter().enumerate().map(at).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn within_a_minute_it_is_a_full_stable_sort(items in items(60)) {
            let (told, late) = sorted(&items, Reorder::new());
            let mut expected = items;
            expected.sort_by_key(|item| item.0);
            prop_assert_eq!(told, expected);
            prop_assert_eq!(late, []);
        }

        #[test]
        fn what_is_later_is_told_apart(items in items(120)) {
            let (told, late) = sorted(&items, Reorder::new());
            let mut newest = 0;
            let (mut in_time, mut too_late) = (Vec::new(), Vec::new());
            for item in items {
                newest = newest.max(item.0 / SECOND);
                if item.0 / SECOND + LATEST < newest { too_late.push(item) } else { in_time.push(item) }
            }
            in_time.sort_by_key(|item| item.0);
            prop_assert_eq!(told, in_time);
            prop_assert_eq!(late, too_late);
        }

        #[test]
        fn a_small_buffer_loses_nothing_and_stays_in_order(items in items(60), most in 1..20_usize) {
            let (told, late) = sorted(&items, Reorder::with_room(most));
            prop_assert!(told.is_sorted_by_key(|item| item.0));
            prop_assert_eq!(told.len() + late.len(), items.len());
        }
    }

    #[test]
    fn the_ends_of_time_are_no_trouble() {
        let items = [Item(0, 0), Item(u64::MAX, 1), Item(0, 2), Item(u64::MAX, 3)];
        let (told, late) = sorted(&items, Reorder::new());
        assert_eq!(told, [items[0], items[1], items[3]]);
        assert_eq!(late, [items[2]]);
    }
}
