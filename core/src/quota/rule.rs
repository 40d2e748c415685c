//! The kinds of quota told apart, and what a table asks of each.

use super::{
    Algorithm, Charge, FixedWindow, Gcra, InFlight, LONGEST_WINDOW, Layout, Moment, Note, Penalty, Quota,
    QuotaError, SHORTEST_WINDOW, SlidingWindow,
};
use crate::time::Nanos;
use crate::verdict::Standing;

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

    pub(crate) const fn layout(&self) -> Layout {
        of_kind!(self, rule => rule.layout())
    }

    /// How long what was charged when a state was written may be used.
    pub(crate) const fn lasts(&self, state: u64, at: Moment) -> Nanos {
        match self {
            Self::FixedWindow(rule) => rule.over_in(state, at),
            Self::SlidingWindow(rule) => rule.ends_in(state, at),
            Self::Gcra(rule) => rule.over_in(state, at),
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
    /// The rule, if it is of fixed windows, whose decisions mostly come to so little that they are made in line.
    #[inline]
    fn fixed_window(&self) -> Option<&FixedWindow> {
        None
    }
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
    ($($rule:ty: |$this:ident, $visitor:ident| $visit:expr $(, $own:item)?);*) => {$(
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
            // As the rule's own function asks for.
            #[inline(always)]
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
            #[inline]
            fn weight(&self, state: u64, at: Moment) -> u64 { <$rule>::weight(self, state, at) }
            fn fresh(&self, before: Option<u64>, at: Moment) -> u64 { <$rule>::fresh(self, before, at) }
            fn advanced(&self, state: u64) -> u64 { <$rule>::advanced(self, state) }
            $(#[inline] $own)?
        }
    )*};
}

arithmetic!(
    Rule: |this, visitor| of_kind!(this, rule => visitor.visit(rule)),
        fn fixed_window(&self) -> Option<&FixedWindow> {
            if let Self::FixedWindow(rule) = self { Some(rule) } else { None }
        };
    FixedWindow: |this, visitor| visitor.visit(this),
        fn fixed_window(&self) -> Option<&FixedWindow> { Some(self) };
    SlidingWindow: |this, visitor| visitor.visit(this);
    Gcra: |this, visitor| visitor.visit(this);
    InFlight: |this, visitor| visitor.visit(this);
    Note: |this, visitor| visitor.visit(this);
    Penalty: |this, visitor| visitor.visit(this)
);

/// The wait of whoever wants one request more than remains, by what the charge left behind.
pub(crate) struct MoreIn<'s> {
    pub(crate) standing: &'s Standing,
    pub(crate) now: Nanos,
    /// The rule's figures as they are now.
    pub(crate) dial: u64,
}

impl Visit for MoreIn<'_> {
    type Output = Nanos;

    #[inline]
    fn visit<A: Arithmetic>(self, rule: &A) -> Nanos {
        let Self { standing, now, dial } = self;
        let (rule, more) = (rule.with_dial(dial), standing.remaining.saturating_add(1));
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
}
