use core::error::Error;
use core::fmt;

use crate::time::Nanos;

mod fixed_window;

use fixed_window::FixedWindow;

/// How much one caller may do: a number of requests in a window.
///
/// The window is the caller's own: it begins with its first request, and exactly `limit` requests pass in it.
/// So an interval as long as a window admits at most 2 × `limit` (a window's last moment and the next one's
/// first), and any longer time admits `limit` per window.
///
/// A quota is a plain description; whether the table's word can hold it is checked by [`Quota::validate`] and
/// by every constructor of a limiter.
///
/// ```
/// use tollgate::{Nanos, Quota};
/// let quota = Quota::per_minute(300);
/// assert_eq!(quota, Quota::new(300, Nanos::from_secs(60)));
/// assert!(quota.validate().is_ok());
/// assert_eq!(
///     Quota::per_minute(0).validate().unwrap_err().to_string(),
///     "the limit is 0, which would refuse everybody: use at least 1",
/// );
/// ```
///
/// # Precision
/// Times are kept in ticks of 2ᵏ ns, 2,048 to 4,095 of them to a window. A window is rounded down to whole
/// ticks and begins with a tick: it ends up to 0.1 % early and never late, so whoever waits for the window
/// is admitted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Quota {
    limit: u32,
    window: Nanos,
}

impl Quota {
    /// `limit` requests in each second.
    pub const fn per_second(limit: u32) -> Self {
        Self::new(limit, Nanos::from_secs(1))
    }

    /// `limit` requests in each minute.
    pub const fn per_minute(limit: u32) -> Self {
        Self::new(limit, Nanos::from_secs(60))
    }

    /// `limit` requests in each hour.
    pub const fn per_hour(limit: u32) -> Self {
        Self::new(limit, Nanos::from_secs(60 * 60))
    }

    /// `limit` requests in each day.
    pub const fn per_day(limit: u32) -> Self {
        Self::new(limit, Nanos::from_secs(24 * 60 * 60))
    }

    /// `limit` requests in each `window`, which has 2,048 ns to 2⁶² ns (146 years).
    pub const fn new(limit: u32, window: Nanos) -> Self {
        Self { limit, window }
    }

    /// Requests that one window admits.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// The window's length.
    pub const fn window(&self) -> Nanos {
        self.window
    }

    /// Whether a limiter can be built for this quota.
    ///
    /// # Errors
    /// If the limit or the window is zero or out of range; the error says what would fit.
    pub const fn validate(&self) -> Result<(), QuotaError> {
        match Rule::new(*self) {
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Why a quota can't be enforced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum QuotaError {
    /// The limit is zero.
    ZeroLimit,
    /// The window is zero.
    ZeroWindow,
    /// The window is too short to be divided into ticks.
    WindowTooShort {
        /// The shortest that fits.
        shortest: Nanos,
    },
    /// The window is too long.
    WindowTooLong {
        /// The longest that fits.
        longest: Nanos,
    },
    /// The limit does not fit beside the time in a word.
    LimitTooLarge {
        /// The largest limit that fits with this window.
        largest: u32,
    },
}

impl QuotaError {
    /// The advice without its figures, for `const` contexts, where nothing can be formatted.
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::ZeroLimit => "the limit is 0, which would refuse everybody: use at least 1",
            Self::ZeroWindow => "the window is 0: use at least 2,048 ns",
            Self::WindowTooShort { .. } => "the window is too short: use at least 2,048 ns",
            Self::WindowTooLong { .. } => "the window is too long: use at most 2^62 ns (146 years)",
            Self::LimitTooLarge { .. } => {
                "the limit does not fit beside the time in a word: up to 4,194,303 fits with every window"
            }
        }
    }
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LimitTooLarge { largest } => write!(
                f,
                "the limit does not fit beside the time in a word: with this window use at most {largest}, \
                 or a shorter window with a limit that is smaller in proportion"
            ),
            other => f.write_str(other.message()),
        }
    }
}

impl Error for QuotaError {}

/// A quota's arithmetic with its field widths: pure functions on one 36-bit state.
///
/// Each kind of quota is a file beside this one with the same functions; this is where they are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    FixedWindow(FixedWindow),
}

/// A point in time as a rule sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    /// Ticks since the clock's zero; the first is 1. Only its lowest bits fit a state.
    tick: u64,
    /// Nanoseconds into that tick.
    fraction: u64,
}

/// What the arithmetic says to one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Charge {
    /// It passes if `state` is written.
    Admitted { state: u64, remaining: u32, resets_in: Nanos },
    /// It does not pass; `state` is what should stand there, the old one unless that lay ahead of the clock.
    Refused { state: u64, retry_after: Nanos },
}

impl Rule {
    pub(crate) const fn new(quota: Quota) -> Result<Self, QuotaError> {
        match FixedWindow::new(quota) {
            Ok(rule) => Ok(Self::FixedWindow(rule)),
            Err(error) => Err(error),
        }
    }

    pub(crate) const fn limit(&self) -> u32 {
        let Self::FixedWindow(rule) = self;
        rule.limit()
    }

    /// The wait to advise where no state says: one tick, after which claims are long resolved.
    pub(crate) const fn shortest_wait(&self) -> Nanos {
        let Self::FixedWindow(rule) = self;
        rule.shortest_wait()
    }

    /// The wait to advise to a caller that has no state.
    pub(crate) const fn window(&self) -> Nanos {
        let Self::FixedWindow(rule) = self;
        rule.window()
    }

    #[inline]
    pub(crate) const fn moment(&self, now: Nanos) -> Moment {
        let Self::FixedWindow(rule) = self;
        rule.moment(now)
    }

    /// Charges `cost` to a state.
    #[inline]
    pub(crate) const fn charge(&self, state: u64, at: Moment, cost: u32) -> Charge {
        let Self::FixedWindow(rule) = self;
        rule.charge(state, at, cost)
    }

    /// Whether a state no longer restrains anybody.
    #[inline]
    pub(crate) const fn is_over(&self, state: u64, at: Moment) -> bool {
        let Self::FixedWindow(rule) = self;
        rule.is_over(state, at)
    }

    /// The time until a state no longer restrains anybody; zero if it doesn't.
    pub(crate) const fn over_in(&self, state: u64, at: Moment) -> Nanos {
        let Self::FixedWindow(rule) = self;
        rule.over_in(state, at)
    }

    /// How much a state restrains its owner: the victim of an overflow is the one with the least.
    pub(crate) const fn weight(&self, state: u64) -> u64 {
        let Self::FixedWindow(rule) = self;
        rule.weight(state)
    }

    /// The state of a caller that has done nothing. Its time is `at`, or, over a word that was `before`, a tick
    /// after that word's if it is not earlier: so that no claim ever recurs in a slot.
    pub(crate) const fn fresh(&self, before: Option<u64>, at: Moment) -> u64 {
        let Self::FixedWindow(rule) = self;
        rule.fresh(before, at)
    }

    /// The same state a tick later: how a charge nobody owns is inherited, so that no claim ever recurs.
    pub(crate) const fn advanced(&self, state: u64) -> u64 {
        let Self::FixedWindow(rule) = self;
        rule.advanced(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_error_says_what_to_do() {
        let quotas = [
            Quota::per_minute(0),
            Quota::new(1, Nanos::ZERO),
            Quota::new(1, Nanos(2047)),
            Quota::new(1, Nanos(1 << 63)),
            Quota::per_minute(u32::MAX),
        ];
        for quota in quotas {
            let error = quota.validate().unwrap_err();
            assert!(error.to_string().contains("use at "), "{error}");
            assert!(error.message().contains("use at ") || error.message().contains("fits"), "{error:?}");
        }
    }
}
