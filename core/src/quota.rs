#![expect(
    clippy::unused_self,
    reason = "every kind of rule has the same functions, whatever it needs of itself"
)]

use core::error::Error;
use core::fmt;

use crate::time::Nanos;

mod fixed_window;
mod gcra;
mod in_flight;
mod layout;
mod note;
mod penalty;
mod rule;
mod sliding_window;
mod timed_count;

pub use fixed_window::FixedWindow;
pub use gcra::Gcra;
pub(crate) use in_flight::InFlight;
pub use layout::Layout;
pub(crate) use note::Note;
pub(crate) use penalty::Penalty;
pub use rule::Rule;
pub(crate) use rule::{Arithmetic, MoreIn, Visit};
pub use sliding_window::SlidingWindow;

/// How much one caller may do: a number of requests in a window, and how the window moves.
///
/// | built by | algorithm | most that any interval of one window admits |
/// |---|---|---|
/// | [`per_minute(300)`](Self::per_minute) and its like | fixed window, begun by the caller's own first request: exactly `limit` pass in it | 2 × `limit`, of the window as it is enforced |
/// | [`.sliding()`](Self::sliding) | sliding window: two counts, the older one weighted by how much of it is in sight, rounded down | 2 × `limit`, if all came at the end of a window; `limit` for even traffic |
/// | [`.burst(b)`](Self::burst) | GCRA: an even rate of `limit` a window, and up to `b` at once | `limit` + `b` |
/// | [`at_most(n)`](Self::at_most)`.in_any(w).burst(b)` | GCRA at the rate that keeps the promise, `n − b` a window | `n` |
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
/// let promise = Quota::at_most(300).in_any(Nanos::from_secs(60)).burst(50);
/// assert!(promise.validate().is_ok());
/// ```
///
/// # Precision
/// - Fixed window: ticks of 2ᵏ ns, 2,048 to 4,095 of them to a window. A window is rounded down to whole ticks and
///   begins with a tick, so it is up to 0.1 % short, and whoever waits for the window is admitted. (An interval of
///   the full length can so hold two enforced windows and the first moment of a third.) Only where a caller's word
///   was made over another's within the same tick, which takes contention or a full table, may its first window end
///   up to 1/128 late; the waits that it is told take that into account.
/// - Sliding window: 2²⁴ ticks to a window or one a nanosecond, rounded down: under 10⁻⁷ early.
/// - GCRA: 1,024 ticks to the interval between two requests or more, rounded up: a rate up to 0.1 % lower, never
///   higher. A request may come 1/256 of an interval early.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Quota {
    limit: u32,
    window: Nanos,
    algorithm: Algorithm,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Algorithm {
    FixedWindow,
    SlidingWindow,
    /// `limit` a window, and `burst` at once.
    Gcra {
        burst: u32,
    },
    /// `limit` in any window, `burst` of them at once.
    GcraPromise {
        burst: u32,
    },
}

/// Half of a promise: how many, but not yet in which time. See [`Quota::at_most`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use = "say in which time: `.in_any(window)`"]
pub struct AtMost {
    limit: u32,
}

impl AtMost {
    /// In any interval of this length, wherever it begins. With a burst of half the limit, unless
    /// [`Quota::burst`] sets another.
    pub const fn in_any(self, window: Nanos) -> Quota {
        let burst = if self.limit == 1 { 1 } else { self.limit / 2 };
        Quota { limit: self.limit, window, algorithm: Algorithm::GcraPromise { burst } }
    }
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
        Self { limit, window, algorithm: Algorithm::FixedWindow }
    }

    /// A promise: no interval of a given length, wherever it begins, admits more than `limit`.
    pub const fn at_most(limit: u32) -> AtMost {
        AtMost { limit }
    }

    /// The same with a sliding window.
    #[must_use]
    pub const fn sliding(self) -> Self {
        Self { algorithm: Algorithm::SlidingWindow, ..self }
    }

    /// The same at an even rate (GCRA), with up to `burst` requests at once. After [`Quota::at_most`] the burst is
    /// part of the promise, so it is smaller than the limit and the rate is what it leaves.
    #[must_use]
    pub const fn burst(self, burst: u32) -> Self {
        let algorithm = match self.algorithm {
            Algorithm::GcraPromise { .. } => Algorithm::GcraPromise { burst },
            _ => Algorithm::Gcra { burst },
        };
        Self { algorithm, ..self }
    }

    /// Requests that one window admits: what was promised, or the rate.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// The window's length.
    pub const fn window(&self) -> Nanos {
        self.window
    }

    /// Whether the whole limit comes back at once when a window is over: the quota is no [promise](Self::at_most), has no
    /// [burst](Self::burst) and its windows are not [sliding](Self::sliding).
    pub const fn is_fixed_window(&self) -> bool {
        matches!(self.algorithm, Algorithm::FixedWindow)
    }

    /// Whether a limiter can be built for this quota.
    ///
    /// # Errors
    /// If a figure is zero or out of range; the error says what would fit.
    pub const fn validate(&self) -> Result<(), QuotaError> {
        match Rule::new(*self) {
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The arithmetic of a fixed window, for limiters that have no other (and are made in a const, as under loom nothing
    /// is).
    #[cfg(not(tollgate_loom))]
    pub(crate) const fn fixed_window(self) -> Result<FixedWindow, QuotaError> {
        match Rule::new(self) {
            Ok(Rule::FixedWindow(rule)) => Ok(rule),
            Ok(_) => Err(QuotaError::OtherAlgorithm),
            Err(error) => Err(error),
        }
    }

    /// Requests that pass in each window in the long run.
    const fn rate(&self) -> u32 {
        match self.algorithm {
            Algorithm::GcraPromise { burst } => self.limit.saturating_sub(burst),
            _ => self.limit,
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
    /// The limiter's type computes with another algorithm.
    OtherAlgorithm,
    /// The burst is zero.
    ZeroBurst,
    /// The burst leaves no rate of the promise, or its debt does not fit in a word.
    BurstTooLarge {
        /// The largest burst that fits.
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
                "the limit does not fit beside the time in a word: use at most 4,194,303 with a fixed window and \
                 65,535 with a sliding one"
            }
            Self::OtherAlgorithm => {
                "this limiter computes fixed windows only: use a quota without .sliding() and .burst(), or a Limiter"
            }
            Self::ZeroBurst => "the burst is 0, which would refuse everybody: use at least 1",
            Self::BurstTooLarge { .. } => {
                "the burst is too large: use less than the limit after at_most, and at most 8,388,608"
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
            Self::BurstTooLarge { largest: 0 } => f.write_str(
                "a promise of one request leaves no room for a burst: promise at least 2, or use a fixed window",
            ),
            Self::BurstTooLarge { largest } => write!(f, "the burst is too large: use at most {largest}"),
            other => f.write_str(other.message()),
        }
    }
}

impl Error for QuotaError {}

/// Clocks of different threads may disagree by this much, in nanoseconds, without anybody gaining by it: a state that
/// lies ahead of the clock by no more is kept.
const SKEW: u64 = 100_000_000;
const SHORTEST_WINDOW: u64 = 2048;
const LONGEST_WINDOW: u64 = 1 << 62;

/// A point in time as a rule sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Ticks since the clock's zero, or windows where these are the clock's own; the first is 1. Only its lowest bits
    /// fit a state.
    tick: u64,
    /// Ticks since the clock's window began, where windows are the clock's own.
    elapsed: u64,
    /// Nanoseconds since the last tick.
    fraction: u64,
}

/// What the arithmetic says to one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charge {
    /// It passes if `state` is written.
    Admitted { state: u64, remaining: u32, resets_in: Nanos },
    /// It does not pass; `state` is what should stand there, the old one unless that lay ahead of the clock.
    Refused { state: u64, remaining: u32, retry_after: Nanos },
}

/// The logarithm to base 2, rounded down; unlike `ilog2`, 0 for 0.
const fn log2(number: u64) -> u32 {
    (number | 1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_largest_that_an_error_names_fits() {
        for quota in [
            Quota::at_most(1_000_000_000).in_any(Nanos::from_secs(1)).burst(u32::MAX),
            Quota::at_most(1_000_000_000).in_any(Nanos::from_secs(1)).burst(900_000_000),
            Quota::at_most(10).in_any(Nanos::from_secs(1)).burst(10),
            Quota::per_minute(7).burst(u32::MAX),
        ] {
            let Err(QuotaError::BurstTooLarge { largest }) = quota.validate() else { panic!("{quota:?}") };
            assert_eq!(quota.burst(largest).validate(), Ok(()), "{quota:?}");
        }
        for quota in
            [Quota::per_minute(u32::MAX), Quota::per_minute(u32::MAX).sliding(), Quota::per_day(u32::MAX)]
        {
            let Err(QuotaError::LimitTooLarge { largest }) = quota.validate() else { panic!("{quota:?}") };
            assert_eq!(Quota { limit: largest, ..quota }.validate(), Ok(()), "{quota:?}");
        }
    }

    #[test]
    fn every_error_says_what_to_do() {
        let quotas = [
            Quota::per_minute(0),
            Quota::new(1, Nanos::ZERO),
            Quota::new(1, Nanos(2047)),
            Quota::new(1, Nanos(1 << 63)),
            Quota::per_minute(u32::MAX),
            Quota::per_minute(65_536).sliding(),
            Quota::per_minute(1).burst(0),
            Quota::per_minute(1).burst(u32::MAX),
            Quota::at_most(1).in_any(Nanos::from_secs(1)),
            Quota::at_most(10).in_any(Nanos::from_secs(1)).burst(10),
        ];
        for quota in quotas {
            let error = quota.validate().unwrap_err();
            assert!(error.to_string().contains("use a"), "{error}");
            assert!(error.message().contains("use "), "{error:?}");
        }
    }
}
