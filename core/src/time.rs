use core::time::Duration;

/// A point in time or a span, in nanoseconds, saturating at both ends.
///
/// The zero of a point in time is the caller's to choose (boot, process start, the epoch); a limiter only
/// ever compares points that come from one clock. The range is 584 years.
///
/// ```
/// use tollgate::Nanos;
/// assert_eq!(Nanos::from_secs(2), Nanos(2_000_000_000));
/// assert_eq!(Nanos::from_millis(1).whole_secs_up(), 1);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all; also a valid point in time.
    pub const ZERO: Self = Self(0);
    /// The latest point in time that can be written.
    pub const MAX: Self = Self(u64::MAX);

    /// `secs` seconds, or [`Nanos::MAX`] where that does not fit.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// `millis` milliseconds, or [`Nanos::MAX`] where that does not fit.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// `duration`, or [`Nanos::MAX`] where that does not fit.
    pub const fn from_duration(duration: Duration) -> Self {
        Self::from_secs(duration.as_secs()).saturating_add(Self(duration.subsec_nanos() as u64))
    }

    /// The sum, at most [`Nanos::MAX`].
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, at least [`Nanos::ZERO`].
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Whole seconds, rounded up: what `Retry-After` needs, since a wait rounded down is a wait too short.
    pub const fn whole_secs_up(self) -> u64 {
        self.0.div_ceil(1_000_000_000)
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Self::from_duration(duration)
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_up_and_nothing_overflows() {
        assert_eq!(Nanos(0).whole_secs_up(), 0);
        assert_eq!(Nanos(1).whole_secs_up(), 1);
        assert_eq!(Nanos(1_000_000_000).whole_secs_up(), 1);
        assert_eq!(Nanos(1_000_000_001).whole_secs_up(), 2);
        assert_eq!(Nanos::MAX.whole_secs_up(), 18_446_744_074);
        assert_eq!(Nanos::from_secs(u64::MAX), Nanos::MAX);
        assert_eq!(Nanos::from_duration(Duration::MAX), Nanos::MAX);
        assert_eq!(Nanos::MAX.saturating_add(Nanos(1)), Nanos::MAX);
        assert_eq!(Nanos::ZERO.saturating_sub(Nanos(1)), Nanos::ZERO);
        assert_eq!(Duration::from(Nanos(1_500_000_000)), Duration::from_millis(1500));
    }
}
