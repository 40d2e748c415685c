//! `[ start | strikes ]`: refusals in a period, and once there are enough of them, a longer time out.

use super::timed_count::{Side, TimedCount};
use super::{Charge, Moment, QuotaError, log2};
use crate::time::Nanos;

/// After `strikes` refusals within a period, out for longer.
///
/// With fewer strikes the start is the first one's; with all of them it is the last one's, with which the time out
/// begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Penalty {
    strikes: u32,
    /// The period in ticks, rounded up.
    period: u64,
    /// The time out in ticks, rounded down.
    out: u64,
    layout: TimedCount,
}

/// The shorter of the two times has `2^TICK_BITS` ticks or more.
const TICK_BITS: u32 = 11;
const SHORTEST: u64 = 1 << TICK_BITS;
const LONGEST: u64 = 1 << 62;

impl Penalty {
    pub(crate) const fn new(strikes: u32, period: Nanos, out: Nanos) -> Result<Self, QuotaError> {
        let shorter = if period.0 < out.0 { period.0 } else { out.0 };
        let longer = if period.0 < out.0 { out.0 } else { period.0 };
        match (strikes, shorter) {
            (0, _) => return Err(QuotaError::ZeroLimit),
            (_, 0) => return Err(QuotaError::ZeroWindow),
            (_, ..SHORTEST) => return Err(QuotaError::WindowTooShort { shortest: Nanos(SHORTEST) }),
            _ => {}
        }
        let shift = log2(shorter).saturating_sub(TICK_BITS);
        // At least one bit for strikes beside a ring of four times the longer.
        let longest = shorter.saturating_mul(1 << 20);
        let longest = if longest < LONGEST { longest } else { LONGEST };
        if longer > longest {
            return Err(QuotaError::WindowTooLong { longest: Nanos(longest) });
        }
        match TimedCount::new(shift, longer >> shift, strikes) {
            Ok(layout) => {
                Ok(Self { strikes, period: period.0.div_ceil(1 << shift), out: out.0 >> shift, layout })
            }
            Err(largest) => Err(QuotaError::LimitTooLarge { largest }),
        }
    }

    pub(crate) const fn limit(&self) -> u32 {
        self.strikes
    }

    pub(super) const fn shortest_wait(&self) -> Nanos {
        self.layout.nanos(1)
    }

    pub(super) const fn window(&self) -> Nanos {
        self.layout.nanos(self.out)
    }

    pub(crate) const fn dial(&self) -> u64 {
        self.strikes as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "it was made from 32 bits")]
    pub(super) const fn with_dial(self, dial: u64) -> Self {
        Self { strikes: dial as u32, ..self }
    }

    pub(super) const fn is_like(&self, other: &Self) -> bool {
        self.layout.is_like(&other.layout) && self.period == other.period && self.out == other.out
    }

    pub(super) const fn quarter_ring(&self) -> Nanos {
        self.layout.quarter_ring()
    }

    pub(super) const fn moment(&self, now: Nanos) -> Moment {
        self.layout.moment(now)
    }

    /// Adds `cost` strikes; refused while the caller is out. With no strike `remaining` the time out has begun.
    pub(super) const fn charge(&self, state: u64, at: Moment, cost: u32) -> Charge {
        let state = self.settled(state, at);
        let (start, strikes) = self.layout.parts(state);
        let (now, lasts) = (self.layout.now(at), self.lasts(strikes));
        let (start, strikes, ends_in) = match self.layout.side(state, at) {
            Side::Past(age) if age >= lasts => (now, 0, self.period),
            Side::Past(age) => (start, strikes, lasts - age),
            Side::Ahead(lead) => (start, strikes, lasts + lead),
        };
        if strikes >= self.strikes {
            return Charge::Refused { state, remaining: 0, retry_after: self.layout.span(ends_in, at) };
        }
        let strikes = strikes.saturating_add(cost);
        let (start, strikes, ends_in) =
            if strikes >= self.strikes { (now, self.strikes, self.out) } else { (start, strikes, ends_in) };
        Charge::Admitted {
            state: self.layout.state(start, strikes),
            remaining: self.strikes - strikes,
            resets_in: self.layout.span(ends_in, at),
        }
    }

    /// The same state, brought to now if it lies too far ahead of the clock.
    pub(super) const fn settled(&self, state: u64, at: Moment) -> u64 {
        let shorter = if self.period < self.out { self.period } else { self.out };
        self.layout.settled(state, at, shorter)
    }

    /// Strikes are not given back.
    pub(super) const fn refund(&self, _: u64, _: u64, _: u32, _: Moment) -> Option<u64> {
        None
    }

    pub(super) const fn cleared(&self, state: u64, _: Moment) -> u64 {
        self.layout.state(self.layout.parts(state).0, 0)
    }

    pub(super) const fn is_over(&self, state: u64, at: Moment) -> bool {
        self.layout.has_passed(state, at, self.lasts(self.layout.parts(state).1))
    }

    pub(super) const fn is_dead(&self, state: u64, at: Moment) -> bool {
        self.is_over(state, at)
    }

    /// Whether a residue's state may be claimed over.
    pub(super) const fn is_reusable(&self, state: u64, at: Moment) -> bool {
        self.weight(state, at) == 0
    }

    pub(super) const fn over_in(&self, state: u64, at: Moment) -> Nanos {
        self.layout.until(self.settled(state, at), at, self.lasts(self.layout.parts(state).1))
    }

    #[inline]
    pub(super) const fn weight(&self, state: u64, _: Moment) -> u64 {
        self.layout.parts(state).1 as u64
    }

    pub(super) const fn fresh(&self, before: Option<u64>, at: Moment) -> u64 {
        self.layout.fresh(before, at)
    }

    pub(super) const fn advanced(&self, state: u64) -> u64 {
        self.layout.advanced(state)
    }

    /// How many ticks a state with so many strikes restrains.
    const fn lasts(&self, strikes: u32) -> u64 {
        if strikes >= self.strikes { self.out } else { self.period }
    }
}
