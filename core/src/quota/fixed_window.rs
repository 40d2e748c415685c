//! `[start | count]`: a window that begins with the caller's own first request.

use super::{Charge, Moment, Quota, QuotaError};
use crate::time::Nanos;
use crate::word::STATE_BITS;

/// Windows of a fixed length that admit `limit` requests each.
///
/// `start` is a tick on a ring of 2ⁿ, where n is what `count` leaves of the state; half of the ring is past,
/// half is ahead. The charge `count` is at most `limit`, so it needs the bits of `limit` and no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FixedWindow {
    limit: u32,
    /// The window's length in ticks, 2,048 to 4,095.
    window: u32,
    /// A tick has 2^shift nanoseconds.
    shift: u8,
    count_bits: u8,
}

/// A window has `2^TICK_BITS` ticks or more, and fewer than twice as many.
const TICK_BITS: u32 = 11;
/// A ring has four windows or more, so that "past" and "ahead" can be told apart.
const SHORTEST_RING: u64 = 4;
/// A state whose start lies ahead of the clock by no more than window / LEAD keeps it: that much comes from
/// rule 6 (a claim takes the tick after its predecessor's), and taking it back would let a claim recur.
const LEAD: u64 = 128;

const LONGEST_WINDOW: u64 = 1 << 62;

impl FixedWindow {
    #[expect(clippy::cast_possible_truncation, reason = "each is bounded in the lines above it")]
    pub(super) const fn new(quota: Quota) -> Result<Self, QuotaError> {
        let (limit, window) = (quota.limit(), quota.window().0);
        if limit == 0 {
            return Err(QuotaError::ZeroLimit);
        }
        if window == 0 {
            return Err(QuotaError::ZeroWindow);
        }
        if window < 1 << TICK_BITS {
            return Err(QuotaError::WindowTooShort { shortest: Nanos(1 << TICK_BITS) });
        }
        if window > LONGEST_WINDOW {
            return Err(QuotaError::WindowTooLong { longest: Nanos(LONGEST_WINDOW) });
        }
        let shift = window.ilog2() - TICK_BITS;
        let window = window >> shift;
        let ring_bits = (window * SHORTEST_RING).next_power_of_two().ilog2();
        let most_count_bits = STATE_BITS - ring_bits;
        let count_bits = u32::BITS - limit.leading_zeros();
        if count_bits > most_count_bits {
            return Err(QuotaError::LimitTooLarge { largest: (1 << most_count_bits) - 1 });
        }
        Ok(Self { limit, window: window as u32, shift: shift as u8, count_bits: count_bits as u8 })
    }

    pub(super) const fn limit(&self) -> u32 {
        self.limit
    }

    pub(super) const fn shortest_wait(&self) -> Nanos {
        Nanos(1 << self.shift)
    }

    pub(super) const fn window(&self) -> Nanos {
        Nanos((self.window as u64) << self.shift)
    }

    #[inline]
    pub(super) const fn moment(&self, now: Nanos) -> Moment {
        Moment { tick: (now.0 >> self.shift).wrapping_add(1), fraction: now.0 & ((1 << self.shift) - 1) }
    }

    #[inline]
    pub(super) const fn charge(&self, state: u64, at: Moment, cost: u32) -> Charge {
        let (start, count) = self.parts(state);
        let (now, window) = (at.tick & self.ring_mask(), self.window as u64);
        let (start, count, ends_in, state) = match self.side(start, at) {
            Side::Past(age) if age >= window => (now, 0, window, state),
            Side::Past(age) => (start, count, window - age, state),
            Side::Ahead(lead) if lead <= window / LEAD => (start, count, window + lead, state),
            Side::Ahead(_) => (now, count, window, self.state(now, count)),
        };
        let ends_in = self.span(ends_in, at);
        match count.checked_add(cost) {
            Some(count) if count <= self.limit => Charge::Admitted {
                state: self.state(start, count),
                remaining: self.limit - count,
                resets_in: ends_in,
            },
            _ => Charge::Refused { state, retry_after: ends_in },
        }
    }

    #[inline]
    pub(super) const fn is_over(&self, state: u64, at: Moment) -> bool {
        matches!(self.side(self.parts(state).0, at), Side::Past(age) if age >= self.window as u64)
    }

    pub(super) const fn over_in(&self, state: u64, at: Moment) -> Nanos {
        let window = self.window as u64;
        match self.side(self.parts(state).0, at) {
            Side::Past(age) if age >= window => Nanos::ZERO,
            Side::Past(age) => self.span(window - age, at),
            Side::Ahead(lead) if lead <= window / LEAD => self.span(window + lead, at),
            Side::Ahead(_) => self.span(window, at),
        }
    }

    pub(super) const fn weight(&self, state: u64) -> u64 {
        self.parts(state).1 as u64
    }

    pub(super) const fn fresh(&self, before: Option<u64>, at: Moment) -> u64 {
        match before {
            Some(before) => match self.side(self.parts(before).0, at) {
                Side::Past(1..) => self.fresh(None, at),
                Side::Past(0) | Side::Ahead(_) => self.advanced(self.state(self.parts(before).0, 0)),
            },
            None => self.state(at.tick & self.ring_mask(), 0),
        }
    }

    pub(super) const fn advanced(&self, state: u64) -> u64 {
        let (start, count) = self.parts(state);
        self.state((start + 1) & self.ring_mask(), count)
    }

    /// The time from now until `ticks` after the tick of now began.
    const fn span(&self, ticks: u64, at: Moment) -> Nanos {
        Nanos((ticks << self.shift) - at.fraction)
    }

    const fn ring_mask(&self) -> u64 {
        (1 << (STATE_BITS - self.count_bits as u32)) - 1
    }

    #[expect(clippy::cast_possible_truncation, reason = "count_bits is at most 24")]
    const fn parts(&self, state: u64) -> (u64, u32) {
        (state >> self.count_bits, (state & ((1 << self.count_bits) - 1)) as u32)
    }

    const fn state(&self, start: u64, count: u32) -> u64 {
        start << self.count_bits | count as u64
    }

    /// On which side of now a tick lies, and how far.
    const fn side(&self, start: u64, at: Moment) -> Side {
        let age = at.tick.wrapping_sub(start) & self.ring_mask();
        let half = self.ring_mask() / 2;
        if age <= half { Side::Past(age) } else { Side::Ahead(self.ring_mask() + 1 - age) }
    }
}

enum Side {
    Past(u64),
    Ahead(u64),
}
