use tollgate::Nanos;

/// The most that one caller did in one fixed window, which is the smallest limit that never refuses it.
///
/// Windows are those of [`Quota::per_minute`](tollgate::Quota::per_minute) and its like: they begin with a caller's own
/// request, in the same ticks. They begin and end alike whatever the limit is, since the request that opens one is always
/// admitted; so one count tells of all limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    /// A tick has 2^shift nanoseconds.
    shift: u32,
    /// The length in ticks.
    ticks: u64,
}

/// One caller's counts in a [`Window`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Meter {
    /// The tick with which the window began.
    start: u64,
    count: u32,
    pub(crate) peak: u32,
}

impl Window {
    pub(crate) fn new(length: Nanos) -> Self {
        let shift = length.0.max(1).ilog2().saturating_sub(TICK_BITS);
        Self { shift, ticks: length.0 >> shift }
    }

    /// Counts a request; how many the window then has. `now` does not run backwards.
    pub(crate) fn count(&self, meter: &mut Meter, now: Nanos) -> u32 {
        let tick = now.0 >> self.shift;
        if meter.count == 0 || tick.wrapping_sub(meter.start) >= self.ticks {
            (meter.start, meter.count) = (tick, 0);
        }
        meter.count = meter.count.saturating_add(1);
        meter.peak = meter.peak.max(meter.count);
        meter.count
    }
}

/// The same for the sliding window of [`Quota::sliding`](tollgate::Quota::sliding): the smallest limit that never refuses
/// a caller is the most that it had in sight, since up to then every limit at least as large admits the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SlidingWindow {
    shift: u32,
    ticks: u64,
}

/// One caller's counts in a [`SlidingWindow`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SlidingMeter {
    /// The window's number.
    number: u64,
    previous: u32,
    current: u32,
    pub(crate) peak: u32,
}

impl SlidingWindow {
    pub(crate) fn new(length: Nanos) -> Self {
        let shift = length.0.max(1).ilog2().saturating_sub(SLIDING_TICK_BITS);
        Self { shift, ticks: (length.0 >> shift).max(1) }
    }

    /// Counts a request; how many are then in sight. `now` does not run backwards.
    pub(crate) fn count(&self, meter: &mut SlidingMeter, now: Nanos) -> u32 {
        let ticks = now.0 >> self.shift;
        let (number, elapsed) = (ticks / self.ticks, ticks % self.ticks);
        match number.wrapping_sub(meter.number) {
            0 => {}
            1 => (meter.previous, meter.current) = (meter.current, 0),
            _ => (meter.previous, meter.current) = (0, 0),
        }
        meter.number = number;
        meter.current = meter.current.saturating_add(1);
        let share = u64::from(meter.previous) * (self.ticks - elapsed) / self.ticks;
        let in_sight = meter.current.saturating_add(u32::try_from(share).unwrap_or(u32::MAX));
        meter.peak = meter.peak.max(in_sight);
        in_sight
    }
}

/// As in the library.
const TICK_BITS: u32 = 11;
const SLIDING_TICK_BITS: u32 = 24;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use tollgate::{BoxedLimiter, Keyer, Presented, Quota};

    /// How many of these the library refuses.
    fn refused(quota: Quota, times: &[u64]) -> usize {
        let limiter = BoxedLimiter::with_capacity(quota, 16).unwrap();
        let key = Keyer::new(*b"a seed for tests").bytes(b"caller");
        let is_refused = |time: &&u64| !limiter.check(key, Presented::Absent, Nanos(**time)).passes();
        times.iter().filter(is_refused).count()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The peak as a limit refuses nothing, and one less does.
        #[test]
        fn a_peak_is_the_smallest_limit_that_never_refuses(
            steps in vec(prop_oneof![0..50_000_000_u64, 0..3_000_000_000_u64, 0..130_000_000_000_u64], 1..120),
            length in prop_oneof![Just(1_000_000_000_u64), Just(60_000_000_000), 1_000_000..100_000_000_000_u64],
        ) {
            let length = Nanos(length);
            let mut now = 1_431_857_103_000_000_000;
            let times: Vec<u64> = steps.iter().map(|step| { now += step; now }).collect();
            let (fixed, sliding) = (Window::new(length), SlidingWindow::new(length));
            let (mut meter, mut sliding_meter) = (Meter::default(), SlidingMeter::default());
            for time in &times {
                fixed.count(&mut meter, Nanos(*time));
                sliding.count(&mut sliding_meter, Nanos(*time));
            }
            let quota = |limit| Quota::new(limit, length);
            prop_assert_eq!(refused(quota(meter.peak), &times), 0);
            prop_assert!(meter.peak == 1 || refused(quota(meter.peak - 1), &times) > 0);
            prop_assert_eq!(refused(quota(sliding_meter.peak).sliding(), &times), 0);
            prop_assert!(sliding_meter.peak == 1 || refused(quota(sliding_meter.peak - 1).sliding(), &times) > 0);
        }
    }
}
