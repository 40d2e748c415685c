//! `[ time | count ]`: how many requests are under way. Nothing of it passes with time; it is given back.

use super::timed_count::{Side, TimedCount};
use super::{Charge, Moment, QuotaError};
use crate::time::Nanos;

/// At most `limit` at once.
///
/// The time tells one claim of a slot from the next, and when a claim's author has died.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InFlight {
    limit: u32,
    layout: TimedCount,
}

/// A tick is a millisecond, nearly.
const SHIFT: u32 = 20;
/// A claim whose author has not resolved it for so many ticks, a second, is dead.
const DEAD: u64 = 1 << 10;

impl InFlight {
    pub(crate) const fn new(limit: u32) -> Result<Self, QuotaError> {
        if limit == 0 {
            return Err(QuotaError::ZeroLimit);
        }
        match TimedCount::new(SHIFT, DEAD, limit) {
            Ok(layout) => Ok(Self { limit, layout }),
            Err(largest) => Err(QuotaError::LimitTooLarge { largest }),
        }
    }

    pub(crate) const fn limit(&self) -> u32 {
        self.limit
    }

    pub(super) const fn shortest_wait(&self) -> Nanos {
        self.layout.nanos(1)
    }

    pub(super) const fn window(&self) -> Nanos {
        self.layout.nanos(DEAD)
    }

    pub(crate) const fn dial(&self) -> u64 {
        self.limit as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "it was made from 32 bits")]
    pub(super) const fn with_dial(self, dial: u64) -> Self {
        Self { limit: dial as u32, ..self }
    }

    pub(super) const fn is_like(&self, other: &Self) -> bool {
        self.layout.is_like(&other.layout)
    }

    pub(super) const fn quarter_ring(&self) -> Nanos {
        self.layout.quarter_ring()
    }

    pub(super) const fn moment(&self, now: Nanos) -> Moment {
        self.layout.moment(now)
    }

    pub(super) const fn charge(&self, state: u64, _: Moment, cost: u32) -> Charge {
        let (time, count) = self.layout.parts(state);
        match count.checked_add(cost) {
            Some(count) if count <= self.limit => Charge::Admitted {
                state: self.layout.state(time, count),
                remaining: self.limit - count,
                resets_in: Nanos::ZERO,
            },
            _ => {
                let remaining = self.limit.saturating_sub(count);
                Charge::Refused { state, remaining, retry_after: self.shortest_wait() }
            }
        }
    }

    /// Nothing of a state depends on the clock.
    pub(super) const fn settled(&self, state: u64, _: Moment) -> u64 {
        state
    }

    /// Whenever the charge was made, it counts until it is given back.
    pub(super) const fn refund(&self, state: u64, _: u64, cost: u32, _: Moment) -> Option<u64> {
        let (time, count) = self.layout.parts(state);
        match count.checked_sub(cost) {
            Some(count) => Some(self.layout.state(time, count)),
            None => None,
        }
    }

    /// Nobody but their owners can end requests that are under way.
    pub(super) const fn cleared(&self, state: u64, _: Moment) -> u64 {
        state
    }

    pub(super) const fn is_over(&self, state: u64, _: Moment) -> bool {
        self.layout.parts(state).1 == 0
    }

    pub(super) const fn is_dead(&self, state: u64, at: Moment) -> bool {
        self.is_over(state, at) && matches!(self.layout.side(state, at), Side::Past(DEAD..))
    }

    /// Whether a residue's state may be claimed over.
    pub(super) const fn is_reusable(&self, state: u64, at: Moment) -> bool {
        self.weight(state, at) == 0
    }

    pub(super) const fn over_in(&self, state: u64, at: Moment) -> Nanos {
        if self.is_over(state, at) { Nanos::ZERO } else { self.shortest_wait() }
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
