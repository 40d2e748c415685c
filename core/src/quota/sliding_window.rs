//! `[ window | previous | current ]`: two counts, the older one weighted by how much of its window is still in sight.

use super::{Charge, Layout, Moment, Quota, QuotaError, log2};
use crate::time::Nanos;
use crate::word::STATE_BITS;

/// At most `limit` requests in sight, where the requests of the window before count by the share of it that the last
/// window's length still covers, rounded down.
///
/// Windows are those of the clock, the same for all callers, and a state holds a window's number on a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlidingWindow {
    limit: u32,
    /// The window's length in ticks, below `2^(TICK_BITS + 1)`.
    window: u32,
    /// A tick has 2^shift nanoseconds.
    shift: u8,
    count_bits: u8,
}

/// A window has at least `2^TICK_BITS` ticks, if it has as many nanoseconds.
const TICK_BITS: u32 = 24;
/// A ring has eight windows or more, so that a state two windows past can be told from one ahead.
const SHORTEST_RING_BITS: u32 = 3;

impl SlidingWindow {
    #[expect(clippy::cast_possible_truncation, reason = "each is bounded in the lines above it")]
    pub(super) const fn new(quota: Quota) -> Result<Self, QuotaError> {
        let (limit, window) = (quota.limit(), quota.window().0);
        let count_bits = u32::BITS - limit.leading_zeros();
        let most_count_bits = (STATE_BITS - SHORTEST_RING_BITS) / 2;
        if count_bits > most_count_bits {
            return Err(QuotaError::LimitTooLarge { largest: (1 << most_count_bits) - 1 });
        }
        let shift = log2(window).saturating_sub(TICK_BITS);
        Ok(Self { limit, window: (window >> shift) as u32, shift: shift as u8, count_bits: count_bits as u8 })
    }

    pub(crate) const fn limit(&self) -> u32 {
        self.limit
    }

    pub(super) const fn shortest_wait(&self) -> Nanos {
        Nanos(1 << self.shift)
    }

    pub(super) const fn window(&self) -> Nanos {
        Nanos((self.window as u64) << self.shift)
    }

    pub(super) const fn layout(&self) -> Layout {
        let Self { limit, window, shift, count_bits } = *self;
        Layout::SlidingWindow { limit, window, shift, count_bits }
    }

    /// The time until the window of a state ends.
    pub(super) const fn ends_in(&self, state: u64, at: Moment) -> Nanos {
        let window = self.window as u64;
        match self.age(state, at) {
            Some(0) => self.span(window - at.elapsed, at),
            None if self.is_next(state, at) => self.span(2 * window - at.elapsed, at),
            _ => Nanos::ZERO,
        }
    }

    /// The figures that may change while counts stay.
    pub(crate) const fn dial(&self) -> u64 {
        (self.limit as u64) << 32 | self.window as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
    pub(super) const fn with_dial(self, dial: u64) -> Self {
        Self { limit: (dial >> 32) as u32, window: dial as u32, ..self }
    }

    /// Whether the two keep the same states.
    pub(super) const fn is_like(&self, other: &Self) -> bool {
        self.shift == other.shift && self.count_bits == other.count_bits && self.window == other.window
    }

    pub(super) const fn quarter_ring(&self) -> Nanos {
        Nanos(((self.ring_mask() + 1) / 4).saturating_mul(self.window().0))
    }

    #[inline]
    pub(super) const fn moment(&self, now: Nanos) -> Moment {
        let ticks = now.0 >> self.shift;
        let window = match ticks.checked_div(self.window as u64) {
            Some(window) => window,
            None => 0,
        };
        Moment {
            tick: window + 1,
            elapsed: ticks - window * self.window as u64,
            fraction: now.0 & ((1 << self.shift) - 1),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "what remains is no more than the limit")]
    #[expect(clippy::inline_always, reason = "for a call, the rule with its dial would be written to memory")]
    #[inline(always)]
    pub(super) const fn charge(&self, state: u64, at: Moment, cost: u32) -> Charge {
        let state = self.settled(state, at);
        let (at, early) = self.seen_from(state, at);
        let (previous, current) = self.rolled(state, at);
        let (limit, window, cost) = (self.limit as u64, self.window as u64, cost as u64);
        let in_sight = self.share(previous, at.elapsed) + current;
        if in_sight + cost <= limit {
            let current = current + cost;
            return Charge::Admitted {
                state: self.state(at.tick, previous, current),
                remaining: (limit - in_sight - cost) as u32,
                resets_in: self.span(early + if current > 0 { 2 * window } else { window } - at.elapsed, at),
            };
        }
        Charge::Refused {
            state,
            remaining: limit.saturating_sub(in_sight) as u32,
            retry_after: self.span(early + self.wait(previous, current, at.elapsed, cost), at),
        }
    }

    /// The ticks until a request of `cost` passes: in this window, once enough of the previous one is out of sight; else in
    /// the next, likewise.
    const fn wait(&self, previous: u64, current: u64, elapsed: u64, cost: u64) -> u64 {
        let (limit, window) = (self.limit as u64, self.window as u64);
        if current + cost <= limit {
            self.falls_to(previous, limit - current - cost) - elapsed
        } else {
            window - elapsed + self.falls_to(current, limit.saturating_sub(cost))
        }
    }

    /// What of the older window's count is in sight, so many ticks into the next one; rounded down, or a caller that
    /// uses all it has would get less than the limit in the long run.
    #[inline]
    const fn share(&self, previous: u64, elapsed: u64) -> u64 {
        let window = self.window as u64;
        quotient(previous * (window - elapsed), window)
    }

    /// The first tick of a window at which no more than `most` of the older one's count is in sight.
    const fn falls_to(&self, previous: u64, most: u64) -> u64 {
        let window = self.window as u64;
        window.saturating_sub(quotient((most + 1) * window - 1, previous))
    }

    /// The same counts, in the clock's window if they lie ahead of it by more than one: another thread's clock may
    /// have seen the next window begin, and written back it would lose what the window before it counted.
    #[inline]
    pub(super) const fn settled(&self, state: u64, at: Moment) -> u64 {
        let (_, previous, current) = self.parts(state);
        if self.age(state, at).is_some() || self.is_next(state, at) {
            state
        } else {
            self.state(at.tick, previous, current)
        }
    }

    /// Whether a state is of the window after the clock's.
    const fn is_next(&self, state: u64, at: Moment) -> bool {
        self.parts(state).0 == at.tick.wrapping_add(1) & self.ring_mask()
    }

    /// From when a state is looked at: now, or the begin of the next window if it is of that; and the ticks until then.
    const fn seen_from(&self, state: u64, at: Moment) -> (Moment, u64) {
        if self.is_next(state, at) {
            let next = Moment { tick: at.tick.wrapping_add(1), elapsed: 0, ..at };
            (next, self.window as u64 - at.elapsed)
        } else {
            (at, 0)
        }
    }

    /// Gives back `cost` of what was charged when `charged` was written; `None` if it is out of sight.
    pub(super) const fn refund(&self, state: u64, charged: u64, cost: u32, at: Moment) -> Option<u64> {
        let (number, previous, current) = self.parts(state);
        let (then, _, _) = self.parts(charged);
        let in_sight = self.is_next(charged, at) || matches!(self.age(charged, at), Some(0 | 1));
        match (in_sight, number.wrapping_sub(then) & self.ring_mask()) {
            (true, 0) => Some(self.state(number, previous, current.saturating_sub(cost as u64))),
            (true, 1) => Some(self.state(number, previous.saturating_sub(cost as u64), current)),
            _ => None,
        }
    }

    /// The state of the same caller without any charge.
    pub(super) const fn cleared(&self, state: u64, _: Moment) -> u64 {
        self.state(self.parts(state).0, 0, 0)
    }

    #[inline]
    pub(super) const fn is_over(&self, state: u64, at: Moment) -> bool {
        match self.age(state, at) {
            Some(0) | None => false,
            Some(1) => self.parts(state).2 == 0,
            Some(_) => true,
        }
    }

    /// Whether a whole window has passed since the state's time.
    pub(super) const fn is_dead(&self, state: u64, at: Moment) -> bool {
        matches!(self.age(state, at), Some(2..))
    }

    /// No time tells the next claim over a residue from this one before the window is over.
    pub(super) const fn is_reusable(&self, _: u64, _: Moment) -> bool {
        false
    }

    pub(super) const fn over_in(&self, state: u64, at: Moment) -> Nanos {
        let window = self.window as u64;
        let (at, early) = self.seen_from(state, at);
        match self.age(state, at) {
            _ if self.is_over(state, at) => Nanos::ZERO,
            Some(1) => self.span(early + window - at.elapsed, at),
            _ => self.span(early + 2 * window - at.elapsed, at),
        }
    }

    #[inline]
    pub(super) const fn weight(&self, state: u64, at: Moment) -> u64 {
        let (at, _) = self.seen_from(state, at);
        let (previous, current) = self.rolled(state, at);
        previous * (self.window as u64 - at.elapsed) + current * self.window as u64
    }

    pub(super) const fn fresh(&self, _: Option<u64>, at: Moment) -> u64 {
        self.state(at.tick, 0, 0)
    }

    /// A state holds no time that could be moved, so a claim over a charge nobody owns is told by one charge more.
    pub(super) const fn advanced(&self, state: u64) -> u64 {
        let (number, previous, current) = self.parts(state);
        let most = (1 << self.count_bits) - 1;
        self.state(number, previous, if current < most { current + 1 } else { most })
    }

    /// The previous and the current count as they are now.
    const fn rolled(&self, state: u64, at: Moment) -> (u64, u64) {
        let (_, previous, current) = self.parts(state);
        match self.age(state, at) {
            Some(0) | None => (previous, current),
            Some(1) => (current, 0),
            Some(_) => (0, 0),
        }
    }

    /// How many windows ago a state was written; `None` if it lies ahead of the clock.
    const fn age(&self, state: u64, at: Moment) -> Option<u64> {
        let age = at.tick.wrapping_sub(self.parts(state).0) & self.ring_mask();
        if age <= self.ring_mask() / 2 { Some(age) } else { None }
    }

    const fn ring_mask(&self) -> u64 {
        (1 << (STATE_BITS - 2 * self.count_bits as u32)) - 1
    }

    const fn parts(&self, state: u64) -> (u64, u64, u64) {
        let counts = (1 << self.count_bits) - 1;
        (state >> (2 * self.count_bits), state >> self.count_bits & counts, state & counts)
    }

    const fn state(&self, window: u64, previous: u64, current: u64) -> u64 {
        (window & self.ring_mask()) << (2 * self.count_bits) | previous << self.count_bits | current
    }

    /// The time from now until `ticks` after the tick of now began.
    const fn span(&self, ticks: u64, at: Moment) -> Nanos {
        Nanos((ticks << self.shift) - at.fraction)
    }
}

/// The quotient, rounded down. With a divisor of 0 it is 0: no window has no ticks, and who has used nothing is not
/// told to wait.
const fn quotient(dividend: u64, divisor: u64) -> u64 {
    match dividend.checked_div(divisor) {
        Some(quotient) => quotient,
        None => 0,
    }
}
