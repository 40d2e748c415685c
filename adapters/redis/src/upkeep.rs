use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tollgate::Nanos;

/// When local notes were last swept: they are on a ring of times, and what nobody looked at for most of it would come back.
///
/// Nothing is lent by notes that are overdue; the store is asked meanwhile.
pub(crate) struct Upkeep {
    interval: Nanos,
    /// The time of the last sweep plus one; 0 before the first decision, when there is nothing to sweep.
    swept: AtomicU64,
    sweeping: AtomicBool,
}

/// Whether notes may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Sound,
    /// They may, and it is time to sweep.
    Due,
    /// They may not before they were swept.
    Overdue,
}

impl Upkeep {
    pub(crate) const fn new(interval: Nanos) -> Self {
        Self { interval, swept: AtomicU64::new(0), sweeping: AtomicBool::new(false) }
    }

    #[inline]
    pub(crate) fn condition(&self, now: Nanos) -> Condition {
        // ORDERING: Acquire, with the Release in `swept`: who reads the new time sees the words that the sweep cleared.
        let mut swept = self.swept.load(Ordering::Acquire);
        if swept == 0 {
            // ORDERING: as above; whoever is first begins the time.
            let first = now.0.saturating_add(1);
            let _ = self.swept.compare_exchange(0, first, Ordering::AcqRel, Ordering::Acquire);
            swept = first;
        }
        match now.0.saturating_sub(swept) {
            age if age < self.interval.0 / 2 => Condition::Sound,
            age if age < self.interval.0 => Condition::Due,
            _ => Condition::Overdue,
        }
    }

    /// Whether the caller is to sweep: nobody else is.
    pub(crate) fn begin(&self) -> bool {
        // ORDERING: Acquire, with the Release in `swept`: one sweep begins after the other has ended.
        !self.sweeping.swap(true, Ordering::Acquire)
    }

    pub(crate) fn swept(&self, now: Nanos) {
        // ORDERING: Release, with the Acquire in `condition` and `begin`.
        self.swept.store(now.0.saturating_add(1), Ordering::Release);
        self.sweeping.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_used_for_one_interval_after_a_sweep() {
        let upkeep = Upkeep::new(Nanos(100));
        let condition = |now| upkeep.condition(Nanos(now));
        assert_eq!(
            [1_000, 1_049, 1_051, 1_100, 1_101, 900].map(condition),
            [
                Condition::Sound,
                Condition::Sound,
                Condition::Due,
                Condition::Due,
                Condition::Overdue,
                Condition::Sound
            ]
        );
        assert!(upkeep.begin() && !upkeep.begin());
        upkeep.swept(Nanos(1_101));
        assert_eq!([1_101, 1_202].map(condition), [Condition::Sound, Condition::Overdue]);
        assert!(upkeep.begin());
    }
}
