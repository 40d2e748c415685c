use std::hint::cold_path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tollgate::{Nanos, Quota};

/// Where a gate takes the time from.
#[derive(Clone, Default, Debug)]
pub enum Clock {
    /// The kernel's coarse monotonic clock: about 7 ns a reading instead of 35, and up to 4 ms behind (Linux; on
    /// other systems this is [`Clock::Precise`]). The default: a window of a minute is longer than the error by
    /// four orders of magnitude. A gate takes the precise clock by itself for sliding windows and GCRA, whose promises are
    /// finer than that; if the window is shorter than 1,000 times
    /// the resolution, so that the clock's error stays under 0.1 % of the window; or if the enforced window, which is
    /// the quota's rounded down, leaves less room than the resolution: no wait is longer than the window then, and
    /// whoever waits as told is admitted.
    #[default]
    Coarse,
    /// The monotonic clock, [`Instant`].
    Precise,
    /// A clock that stands still until it is moved, so that a test crosses a window without sleeping.
    Manual(ManualClock),
}

/// A clock that is moved by hand. Clones are one clock.
///
/// ```
/// use std::time::Duration;
/// use tollgate_http::{Clock, Gate, ManualClock, Quota};
///
/// let clock = ManualClock::new();
/// let gate = Gate::builder(Quota::per_minute(1)).clock(Clock::Manual(clock.clone())).build()?;
/// let passes = || gate.decide("203.0.113.7".parse().ok(), &()).map(|decision| decision.passes());
/// assert_eq!((passes()?, passes()?), (true, false));
/// clock.advance(Duration::from_mins(1));
/// assert!(passes()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct ManualClock {
    nanos: Arc<AtomicU64>,
}

impl ManualClock {
    /// A clock that stands at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock forward; at the end of time it stays there.
    pub fn advance(&self, by: Duration) {
        let by = Nanos::from_duration(by);
        // ORDERING: a reading is a number by itself and publishes nothing, here and below.
        let _ = self
            .nanos
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| Some(Nanos(now).saturating_add(by).0));
    }

    /// Sets the clock, also back.
    pub fn set(&self, now: Nanos) {
        self.nanos.store(now.0, Ordering::Relaxed);
    }

    /// The time it shows.
    pub fn now(&self) -> Nanos {
        Nanos(self.nanos.load(Ordering::Relaxed))
    }
}

/// A window is at least this many times as long as the coarse clock's resolution, or the precise clock is read.
const COARSE_ENOUGH: u64 = 1_000;

impl Clock {
    /// This clock, or the precise one where this one is too coarse for a quota or does not exist. Each quota comes
    /// with its window as it is enforced.
    pub(crate) fn suited_to(self, quotas: impl IntoIterator<Item = (Quota, Nanos)>) -> Self {
        let resolution = coarse::resolution();
        match self {
            Self::Coarse if !quotas.into_iter().all(|quota| coarse_suits(quota, resolution)) => Self::Precise,
            suited => suited,
        }
    }

    /// By how much a reading may be behind.
    fn resolution(&self) -> Nanos {
        match self {
            Self::Coarse => coarse::resolution(),
            Self::Precise | Self::Manual(_) => Nanos::ZERO,
        }
    }
}

fn coarse_suits((quota, enforced): (Quota, Nanos), resolution: Nanos) -> bool {
    let is_fixed = quota == Quota::new(quota.limit(), quota.window());
    let room = quota.window().saturating_sub(enforced);
    is_fixed && quota.window().0 / COARSE_ENOUGH >= resolution.0 && room >= resolution
}

/// A clock that runs.
#[derive(Debug)]
pub(crate) struct Ticker {
    clock: Clock,
    resolution: Nanos,
    /// The precise clock's zero.
    start: Instant,
}

impl Ticker {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { resolution: clock.resolution(), clock, start: Instant::now() }
    }

    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        match &self.clock {
            Clock::Coarse => coarse::now(),
            Clock::Precise => self.precise(),
            Clock::Manual(manual) => {
                cold_path();
                manual.now()
            }
        }
    }

    #[inline(never)]
    fn precise(&self) -> Nanos {
        self.start.elapsed().into()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// By how much a reading may be behind.
    pub(crate) fn resolution(&self) -> Nanos {
        self.resolution
    }
}

#[cfg(target_os = "linux")]
mod coarse {
    use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};
    use tollgate::Nanos;

    pub(super) fn resolution() -> Nanos {
        nanos(clock_getres(ClockId::MonotonicCoarse))
    }

    #[inline]
    pub(super) fn now() -> Nanos {
        nanos(clock_gettime(ClockId::MonotonicCoarse))
    }

    /// A monotonic clock shows no time before its zero, and none that is 584 years after it.
    #[inline]
    fn nanos(time: Timespec) -> Nanos {
        let [seconds, nanos] = [time.tv_sec, time.tv_nsec].map(i64::cast_unsigned);
        Nanos(seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos))
    }
}

#[cfg(not(target_os = "linux"))]
mod coarse {
    use tollgate::Nanos;

    /// Too coarse for any quota, so that this clock is never read.
    pub(super) fn resolution() -> Nanos {
        Nanos::MAX
    }

    pub(super) fn now() -> Nanos {
        Nanos::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate::BoxedLimiter;
    use tollgate::Quota;

    fn window(nanos: u64) -> (Quota, Nanos) {
        enforced(Quota::new(300, Nanos(nanos)))
    }

    fn enforced(quota: Quota) -> (Quota, Nanos) {
        (quota, BoxedLimiter::with_capacity(quota, 16).unwrap().enforced_window())
    }

    #[test]
    fn the_coarse_clock_needs_a_window_of_a_thousand_readings() {
        let resolution = Nanos::from_millis(4);
        // 2³³ ns are a power of two of ticks, and nearly a tick more leaves room for the clock.
        let (tick, window_8s) = (1 << 22, 1 << 33);
        assert!(coarse_suits(window(window_8s + tick - 1), resolution));
        assert!(!coarse_suits(window(3_999_999_999), resolution));
    }

    #[test]
    fn no_wait_is_longer_than_the_window_by_the_clock_s_error() {
        let resolution = Nanos::from_millis(4);
        assert!(!coarse_suits(window(1 << 33), resolution), "nothing is rounded off, so there is no room");
        assert!(!coarse_suits(window((1 << 33) + 3_999_999), resolution));
        assert!(coarse_suits(window((1 << 33) + 4_000_000), resolution));
        for seconds in 1..100_000 {
            let limiter = window(seconds * 1_000_000_000);
            if coarse_suits(limiter, resolution) {
                assert!(limiter.1.saturating_add(resolution).whole_secs_up() <= seconds);
            }
        }
    }

    #[test]
    fn a_gate_that_is_too_fast_takes_the_precise_clock() {
        let minute = window(60_000_000_000);
        assert!(matches!(Clock::Coarse.suited_to([window(1_000_000)]), Clock::Precise));
        assert!(matches!(Clock::Precise.suited_to([minute]), Clock::Precise));
        assert!(matches!(Clock::Manual(ManualClock::new()).suited_to([window(1_000_000)]), Clock::Manual(_)));
        assert!(coarse_suits(minute, Nanos::from_millis(4)));
        for finer in [Quota::per_minute(300).sliding(), Quota::per_minute(300).burst(50)] {
            assert!(matches!(Clock::Coarse.suited_to([minute, enforced(finer)]), Clock::Precise));
        }
        let suited = Clock::Coarse.suited_to([minute]);
        let resolution = coarse::resolution();
        assert_eq!(matches!(suited, Clock::Coarse), resolution <= Nanos::from_millis(4), "{resolution:?}");
    }

    #[test]
    fn running_clocks_never_go_back() {
        for clock in [Clock::Coarse.suited_to([window(60_000_000_000)]), Clock::Precise] {
            let ticker = Ticker::new(clock);
            let readings: Vec<_> = (0..1000).map(|_| ticker.now()).collect();
            assert!(readings.is_sorted(), "{ticker:?}");
            assert!(ticker.resolution() <= Nanos::from_millis(10), "{ticker:?}");
        }
    }

    #[test]
    fn a_manual_clock_moves_by_hand_alone() {
        let clock = ManualClock::new();
        let ticker = Ticker::new(Clock::Manual(clock.clone()));
        assert_eq!(ticker.now(), Nanos::ZERO);
        clock.advance(Duration::from_millis(1500));
        assert_eq!(ticker.now(), Nanos::from_millis(1500));
        clock.set(Nanos::from_secs(1));
        assert_eq!(ticker.now(), Nanos::from_secs(1));
        clock.advance(Duration::MAX);
        assert_eq!(ticker.now(), Nanos::MAX);
    }
}
