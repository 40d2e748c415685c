#![expect(
    clippy::unused_self,
    clippy::trivially_copy_pass_by_ref,
    reason = "every kind of rule has the same functions, whatever it needs of itself"
)]

use core::error::Error;
use core::fmt;

use crate::time::Nanos;
use crate::verdict::Standing;

mod fixed_window;
mod gcra;
mod in_flight;
mod penalty;
mod sliding_window;
mod timed_count;

pub use fixed_window::FixedWindow;
pub use gcra::Gcra;
pub(crate) use in_flight::InFlight;
pub(crate) use penalty::Penalty;
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

/// The arithmetic of whatever kind of quota a limiter was built with, with its field widths.
///
/// Each kind is a file beside this one with the same functions; here they are told apart. It is what a
/// [`RateLimiter`](crate::RateLimiter) computes with, unless its type names one kind, for programs that have no room for
/// the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// See [`Quota::per_minute`].
    FixedWindow(FixedWindow),
    /// See [`Quota::sliding`].
    SlidingWindow(SlidingWindow),
    /// See [`Quota::burst`].
    Gcra(Gcra),
}

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

/// Calls the function of the rule's kind.
macro_rules! of_kind {
    ($self:ident, $rule:ident => $call:expr) => {
        match $self {
            Rule::FixedWindow($rule) => $call,
            Rule::SlidingWindow($rule) => $call,
            Rule::Gcra($rule) => $call,
        }
    };
}

impl Rule {
    pub(crate) const fn new(quota: Quota) -> Result<Self, QuotaError> {
        match (quota.limit, quota.window.0) {
            (0, _) => return Err(QuotaError::ZeroLimit),
            (_, 0) => return Err(QuotaError::ZeroWindow),
            (_, ..SHORTEST_WINDOW) => {
                return Err(QuotaError::WindowTooShort { shortest: Nanos(SHORTEST_WINDOW) });
            }
            (_, SHORTEST_WINDOW..=LONGEST_WINDOW) => {}
            _ => return Err(QuotaError::WindowTooLong { longest: Nanos(LONGEST_WINDOW) }),
        }
        // `Result::map` is not const.
        match quota.algorithm {
            Algorithm::FixedWindow => match FixedWindow::new(quota) {
                Ok(rule) => Ok(Self::FixedWindow(rule)),
                Err(error) => Err(error),
            },
            Algorithm::SlidingWindow => match SlidingWindow::new(quota) {
                Ok(rule) => Ok(Self::SlidingWindow(rule)),
                Err(error) => Err(error),
            },
            Algorithm::Gcra { burst } | Algorithm::GcraPromise { burst } => match Gcra::new(quota, burst) {
                Ok(rule) => Ok(Self::Gcra(rule)),
                Err(error) => Err(error),
            },
        }
    }

    // The functions of `Arithmetic`.

    pub(crate) const fn limit(&self) -> u32 {
        of_kind!(self, rule => rule.limit())
    }

    pub(crate) const fn shortest_wait(&self) -> Nanos {
        of_kind!(self, rule => rule.shortest_wait())
    }

    pub(crate) const fn window(&self) -> Nanos {
        of_kind!(self, rule => rule.window())
    }

    pub(crate) const fn dial(&self) -> u64 {
        of_kind!(self, rule => rule.dial())
    }

    #[inline]
    pub(crate) const fn with_dial(self, dial: u64) -> Self {
        match self {
            Self::FixedWindow(rule) => Self::FixedWindow(rule.with_dial(dial)),
            Self::SlidingWindow(rule) => Self::SlidingWindow(rule.with_dial(dial)),
            Self::Gcra(rule) => Self::Gcra(rule.with_dial(dial)),
        }
    }

    pub(crate) const fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::FixedWindow(rule), Self::FixedWindow(other)) => rule.is_like(other),
            (Self::SlidingWindow(rule), Self::SlidingWindow(other)) => rule.is_like(other),
            (Self::Gcra(rule), Self::Gcra(other)) => rule.is_like(other),
            _ => false,
        }
    }

    pub(crate) const fn quarter_ring(&self) -> Nanos {
        of_kind!(self, rule => rule.quarter_ring())
    }

    #[inline]
    pub(crate) const fn moment(&self, now: Nanos) -> Moment {
        of_kind!(self, rule => rule.moment(now))
    }

    #[inline]
    pub(crate) const fn charge(&self, state: u64, at: Moment, cost: u32) -> Charge {
        of_kind!(self, rule => rule.charge(state, at, cost))
    }

    #[inline]
    pub(crate) const fn settled(&self, state: u64, at: Moment) -> u64 {
        of_kind!(self, rule => rule.settled(state, at))
    }

    pub(crate) const fn refund(&self, state: u64, charged: u64, cost: u32, at: Moment) -> Option<u64> {
        of_kind!(self, rule => rule.refund(state, charged, cost, at))
    }

    pub(crate) const fn cleared(&self, state: u64, at: Moment) -> u64 {
        of_kind!(self, rule => rule.cleared(state, at))
    }

    #[inline]
    pub(crate) const fn is_over(&self, state: u64, at: Moment) -> bool {
        of_kind!(self, rule => rule.is_over(state, at))
    }

    pub(crate) const fn is_dead(&self, state: u64, at: Moment) -> bool {
        of_kind!(self, rule => rule.is_dead(state, at))
    }

    pub(crate) const fn is_reusable(&self, state: u64, at: Moment) -> bool {
        of_kind!(self, rule => rule.is_reusable(state, at))
    }

    pub(crate) const fn over_in(&self, state: u64, at: Moment) -> Nanos {
        of_kind!(self, rule => rule.over_in(state, at))
    }

    pub(crate) const fn weight(&self, state: u64, at: Moment) -> u64 {
        of_kind!(self, rule => rule.weight(state, at))
    }

    pub(crate) const fn fresh(&self, before: Option<u64>, at: Moment) -> u64 {
        of_kind!(self, rule => rule.fresh(before, at))
    }

    pub(crate) const fn advanced(&self, state: u64) -> u64 {
        of_kind!(self, rule => rule.advanced(state))
    }
}

/// What a table asks of a rule: pure functions on one 36-bit state.
pub trait Arithmetic: Copy {
    /// Does some work with the rule of one kind that this is, so that its kind is asked for once and not for each
    /// function.
    fn visit<V: Visit>(&self, visitor: V) -> V::Output;
    /// The most that passes at once.
    fn limit(&self) -> u32;
    /// The wait to advise where no state says: one tick, after which claims are long resolved.
    fn shortest_wait(&self) -> Nanos;
    /// The time in which a caller that has used everything has everything again; of sliding windows, half of it.
    fn window(&self) -> Nanos;
    /// A quarter of the ring of times, or of windows' numbers.
    fn quarter_ring(&self) -> Nanos;
    /// The figures that may change while counts stay, in one number.
    fn dial(&self) -> u64;
    /// The same rule with the figures of `dial`.
    #[must_use]
    fn with_dial(&self, dial: u64) -> Self;
    /// Whether states of one rule mean the same under the other, so that only the dial differs.
    fn is_like(&self, other: &Self) -> bool;
    /// A point in time as this rule sees it.
    fn moment(&self, now: Nanos) -> Moment;
    /// Charges `cost` to a state.
    fn charge(&self, state: u64, at: Moment, cost: u32) -> Charge;
    /// The same state, brought to now if it lies ahead of the clock by more than it should: the clock fell back, or
    /// nobody looked at the state for half a ring.
    fn settled(&self, state: u64, at: Moment) -> u64;
    /// The state after a refund of `cost`, which was charged when `charged` was written; `None` if that charge no
    /// longer counts.
    fn refund(&self, state: u64, charged: u64, cost: u32, at: Moment) -> Option<u64>;
    /// The state of the same caller without any charge.
    fn cleared(&self, state: u64, at: Moment) -> u64;
    /// Whether a committed state no longer restrains anybody.
    fn is_over(&self, state: u64, at: Moment) -> bool;
    /// Whether a whole window has passed since the state's time: a claim's author died, and a word may be cleared.
    fn is_dead(&self, state: u64, at: Moment) -> bool;
    /// Whether a residue's state may be claimed over, because nobody paid for it.
    fn is_reusable(&self, state: u64, at: Moment) -> bool;
    /// The time until a state no longer restrains anybody; zero if it doesn't.
    fn over_in(&self, state: u64, at: Moment) -> Nanos;
    /// How much a state restrains its owner: the victim of an overflow is the one with the least.
    fn weight(&self, state: u64, at: Moment) -> u64;
    /// The state of a caller that has done nothing. Its time is `at`, or, over a word that was `before`, a tick
    /// after that word's if it is not earlier: so that no claim ever recurs in a slot.
    fn fresh(&self, before: Option<u64>, at: Moment) -> u64;
    /// The same state a tick later: how a charge nobody owns is inherited, so that no claim ever recurs.
    fn advanced(&self, state: u64) -> u64;
}

/// Work with a rule, of whatever kind.
pub trait Visit {
    /// What comes of it.
    type Output;
    /// Does the work.
    fn visit<A: Arithmetic>(self, rule: &A) -> Self::Output;
}

/// A rule's own functions are const, and a trait's can't be; so the trait calls the rule's own.
macro_rules! arithmetic {
    ($($rule:ty: |$this:ident, $visitor:ident| $visit:expr),*) => {$(
        impl Arithmetic for $rule {
            #[inline]
            fn visit<V: Visit>(&self, $visitor: V) -> V::Output {
                let $this = self;
                $visit
            }
            #[inline]
            fn limit(&self) -> u32 { <$rule>::limit(self) }
            fn shortest_wait(&self) -> Nanos { <$rule>::shortest_wait(self) }
            fn window(&self) -> Nanos { <$rule>::window(self) }
            fn quarter_ring(&self) -> Nanos { <$rule>::quarter_ring(self) }
            fn dial(&self) -> u64 { <$rule>::dial(self) }
            #[inline]
            fn with_dial(&self, dial: u64) -> Self { <$rule>::with_dial(*self, dial) }
            fn is_like(&self, other: &Self) -> bool { <$rule>::is_like(self, other) }
            #[inline]
            fn moment(&self, now: Nanos) -> Moment { <$rule>::moment(self, now) }
            #[inline]
            fn charge(&self, state: u64, at: Moment, cost: u32) -> Charge { <$rule>::charge(self, state, at, cost) }
            #[inline]
            fn settled(&self, state: u64, at: Moment) -> u64 { <$rule>::settled(self, state, at) }
            fn refund(&self, state: u64, charged: u64, cost: u32, at: Moment) -> Option<u64> {
                <$rule>::refund(self, state, charged, cost, at)
            }
            fn cleared(&self, state: u64, at: Moment) -> u64 { <$rule>::cleared(self, state, at) }
            #[inline]
            fn is_over(&self, state: u64, at: Moment) -> bool { <$rule>::is_over(self, state, at) }
            fn is_dead(&self, state: u64, at: Moment) -> bool { <$rule>::is_dead(self, state, at) }
            fn is_reusable(&self, state: u64, at: Moment) -> bool { <$rule>::is_reusable(self, state, at) }
            fn over_in(&self, state: u64, at: Moment) -> Nanos { <$rule>::over_in(self, state, at) }
            fn weight(&self, state: u64, at: Moment) -> u64 { <$rule>::weight(self, state, at) }
            fn fresh(&self, before: Option<u64>, at: Moment) -> u64 { <$rule>::fresh(self, before, at) }
            fn advanced(&self, state: u64) -> u64 { <$rule>::advanced(self, state) }
        }
    )*};
}

arithmetic!(
    Rule: |this, visitor| of_kind!(this, rule => visitor.visit(rule)),
    FixedWindow: |this, visitor| visitor.visit(this),
    SlidingWindow: |this, visitor| visitor.visit(this),
    Gcra: |this, visitor| visitor.visit(this),
    InFlight: |this, visitor| visitor.visit(this),
    Penalty: |this, visitor| visitor.visit(this)
);

/// The wait of whoever wants one request more than remains, by what the charge left behind.
pub(crate) fn more_in<R: Arithmetic>(rule: &R, standing: &Standing, now: Nanos) -> Nanos {
    let more = standing.remaining.saturating_add(1);
    if more > rule.limit() {
        return Nanos::ZERO;
    }
    if standing.receipt.cost() == 0 {
        return standing.resets_in;
    }
    match rule.charge(standing.receipt.charged(), rule.moment(now), more) {
        Charge::Refused { retry_after, .. } => retry_after,
        Charge::Admitted { .. } => Nanos::ZERO,
    }
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
