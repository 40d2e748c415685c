//! `[ until | number ]`: something to remember of a caller until a time.

use super::timed_count::{Side, TimedCount};
use super::{Charge, Moment, QuotaError, log2};
use crate::time::Nanos;

/// Numbers of up to `most` that are remembered for up to `longest` ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Note {
    longest: u64,
    most: u32,
    layout: TimedCount,
}

/// The longest time has `2^TICK_BITS` ticks or more, and fewer than twice as many.
const TICK_BITS: u32 = 11;

impl Note {
    pub(crate) const fn new(longest: Nanos, most: u32) -> Result<Self, QuotaError> {
        if longest.0 == 0 {
            return Err(QuotaError::ZeroWindow);
        }
        let shift = log2(longest.0).saturating_sub(TICK_BITS);
        let longest = longest.0 >> shift;
        match TimedCount::new(shift, longest, most) {
            Ok(layout) => Ok(Self { longest, most, layout }),
            Err(largest) => Err(QuotaError::LimitTooLarge { largest }),
        }
    }

    /// The state that holds a number for a time from now, rounded down to a tick; the most of each that fits.
    pub(crate) const fn noted(&self, at: Moment, lasts: Nanos, number: u32) -> u64 {
        let ticks = self.layout.ticks(lasts.saturating_add(Nanos(at.fraction)));
        let ticks = if ticks < self.longest { ticks } else { self.longest };
        let number = if number < self.most { number } else { self.most };
        self.layout.state(self.layout.after(at, ticks), number)
    }

    /// How long from now a state is to be remembered, and its number; `None` if it is over.
    pub(crate) const fn read(&self, state: u64, at: Moment) -> Option<(Nanos, u32)> {
        if self.is_over(state, at) {
            return None;
        }
        Some((self.over_in(state, at), self.layout.parts(state).1))
    }

    // The functions of `Arithmetic`.

    /// The largest number.
    pub(crate) const fn limit(&self) -> u32 {
        self.most
    }

    pub(crate) const fn shortest_wait(&self) -> Nanos {
        self.layout.nanos(1)
    }

    pub(super) const fn window(&self) -> Nanos {
        self.layout.nanos(self.longest)
    }

    pub(crate) const fn quarter_ring(&self) -> Nanos {
        self.layout.quarter_ring()
    }

    /// Nothing changes while notes stay.
    pub(crate) const fn dial(&self) -> u64 {
        0
    }

    pub(super) const fn with_dial(self, _: u64) -> Self {
        self
    }

    pub(super) const fn is_like(&self, other: &Self) -> bool {
        self.layout.is_like(&other.layout) && self.longest == other.longest
    }

    pub(crate) const fn moment(&self, now: Nanos) -> Moment {
        self.layout.moment(now)
    }

    /// A note is never charged; its word is made by a charge of nothing and then written over.
    pub(super) const fn charge(&self, state: u64, _: Moment, _: u32) -> Charge {
        Charge::Admitted { state, remaining: 0, resets_in: Nanos::ZERO }
    }

    /// A time further ahead than any note lasts is one that nobody looked at for half a ring.
    pub(super) const fn settled(&self, state: u64, at: Moment) -> u64 {
        match self.layout.side(state, at) {
            Side::Ahead(lead) if lead > self.longest => self.layout.state(self.layout.now(at), 0),
            _ => state,
        }
    }

    pub(super) const fn refund(&self, _: u64, _: u64, _: u32, _: Moment) -> Option<u64> {
        None
    }

    pub(super) const fn cleared(&self, state: u64, _: Moment) -> u64 {
        self.layout.state(self.layout.parts(state).0, 0)
    }

    pub(super) const fn is_over(&self, state: u64, at: Moment) -> bool {
        !matches!(self.layout.side(state, at), Side::Ahead(lead) if lead <= self.longest)
    }

    pub(super) const fn is_dead(&self, state: u64, at: Moment) -> bool {
        self.layout.has_passed(state, at, self.longest)
    }

    /// Nobody gave anything for a residue.
    pub(super) const fn is_reusable(&self, _: u64, _: Moment) -> bool {
        true
    }

    pub(super) const fn over_in(&self, state: u64, at: Moment) -> Nanos {
        if self.is_over(state, at) { Nanos::ZERO } else { self.layout.until(state, at, 0) }
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
}
