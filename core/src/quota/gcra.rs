//! `[ theoretical arrival time ]`: the generic cell rate algorithm (ITU-T I.371, annex A), a leaky bucket as one
//! number.

use super::{Charge, Layout, Moment, Quota, QuotaError, SKEW};
use crate::time::Nanos;
use crate::word::STATE_BITS;

/// One request an interval, and up to `burst` at once.
///
/// The state is the time at which all that was admitted would have arrived, had it come evenly. Its lead over the
/// clock is the caller's *debt*: a request costs one interval of it, and passes if the debt stays within `burst`
/// intervals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gcra {
    burst: u32,
    /// The interval in ticks, 1,024 to 2,048; rounded up, so that the rate is never higher than promised.
    interval: u32,
    /// A tick has 2^scale nanoseconds; below zero it is a part of one.
    scale: i8,
}

/// An interval has `2^TICK_BITS` ticks or more.
const TICK_BITS: u32 = 10;
const RING: u64 = (1 << STATE_BITS) - 1;
/// A ring is four times as long as the whole debt, or longer.
const LONGEST_DEBT: u64 = 1 << (STATE_BITS - 2);
/// A debt may exceed the burst by interval / LEEWAY: rule 6 puts claims some ticks ahead of the clock, and no caller is
/// to be refused for that.
const LEEWAY: u64 = 256;
/// Ticks as fine as a rate of 2³² in the shortest window may need.
const FINEST: i8 = -40;

impl Gcra {
    #[expect(clippy::cast_possible_truncation, reason = "an interval has at most 2,048 ticks, a debt 2³⁴")]
    pub(super) const fn new(quota: Quota, burst: u32) -> Result<Self, QuotaError> {
        let (rate, period) = (quota.rate(), quota.window().0);
        if burst == 0 {
            return Err(QuotaError::ZeroBurst);
        }
        if rate == 0 {
            return Err(QuotaError::BurstTooLarge { largest: promised(quota) });
        }
        let mut scale = FINEST;
        while ticks(period, rate, scale + 1) >= 1 << TICK_BITS {
            scale += 1;
        }
        let interval = ticks(period, rate, scale) as u64;
        let largest = match LONGEST_DEBT.checked_div(interval) {
            Some(largest) => largest as u32,
            None => 0,
        };
        if burst > largest {
            let largest = if rate < quota.limit() { promised(quota) } else { largest };
            return Err(QuotaError::BurstTooLarge { largest });
        }
        Ok(Self { burst, interval: interval as u32, scale })
    }

    pub(crate) const fn limit(&self) -> u32 {
        self.burst
    }

    pub(super) const fn shortest_wait(&self) -> Nanos {
        self.nanos(1)
    }

    /// The time in which a whole debt is paid.
    pub(super) const fn window(&self) -> Nanos {
        self.nanos(self.full())
    }

    pub(super) const fn layout(&self) -> Layout {
        let Self { burst, interval, scale } = *self;
        Layout::Gcra { burst, interval, scale, most: self.most(), kept: self.kept() }
    }

    /// The time of one request.
    pub(crate) const fn interval(&self) -> Nanos {
        self.nanos(self.interval as u64)
    }

    /// The figures that may change while counts stay.
    pub(crate) const fn dial(&self) -> u64 {
        (self.burst as u64) << 32 | self.interval as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
    pub(super) const fn with_dial(self, dial: u64) -> Self {
        Self { burst: (dial >> 32) as u32, interval: dial as u32, ..self }
    }

    /// Whether the two keep the same states.
    pub(super) const fn is_like(&self, other: &Self) -> bool {
        self.scale == other.scale
    }

    #[expect(clippy::cast_possible_truncation, reason = "it is compared first")]
    pub(super) const fn quarter_ring(&self) -> Nanos {
        let (quarter, scale) = ((RING / 4) as u128, self.scale.unsigned_abs() as u32);
        let nanos = if self.scale < 0 { quarter >> scale } else { quarter << scale };
        if nanos < u64::MAX as u128 { Nanos(nanos as u64) } else { Nanos::MAX }
    }

    #[inline]
    pub(super) const fn moment(&self, now: Nanos) -> Moment {
        let scale = self.scale.unsigned_abs() as u32;
        let (tick, fraction) = match self.scale {
            0.. => (now.0 >> scale, now.0 & ((1 << scale) - 1)),
            _ => (now.0 << scale, 0),
        };
        Moment { tick: tick.wrapping_add(1), elapsed: 0, fraction }
    }

    #[inline]
    pub(super) const fn charge(&self, state: u64, at: Moment, cost: u32) -> Charge {
        let state = self.settled(state, at);
        let debt = lead(state, at);
        let charged = debt + cost as u64 * self.interval as u64;
        match self.most().checked_sub(charged) {
            Some(room) => Charge::Admitted {
                state: after(at, charged),
                remaining: self.requests(room),
                resets_in: self.span(charged, at),
            },
            None => Charge::Refused {
                state,
                remaining: self.requests(self.most().saturating_sub(debt)),
                retry_after: self.span(charged - self.most(), at),
            },
        }
    }

    /// The same state, brought to a whole debt from now if it lies further ahead of the clock than rule 6 puts it.
    #[inline]
    pub(super) const fn settled(&self, state: u64, at: Moment) -> u64 {
        if lead(state, at) > self.most() + self.kept() { after(at, self.full()) } else { state }
    }

    /// Gives back `cost` of what was charged when `charged` was written; `None` if its time has passed.
    pub(super) const fn refund(&self, state: u64, charged: u64, cost: u32, at: Moment) -> Option<u64> {
        let unpaid = lead(charged, at);
        if unpaid == 0 {
            return None;
        }
        // What time has paid of the charge is not given back, or the caller would gain by it.
        let cost = cost as u64 * self.interval as u64;
        let back = if cost < unpaid { cost } else { unpaid };
        Some(after(at, lead(state, at).saturating_sub(back)))
    }

    /// The state of the same caller without any charge.
    pub(super) const fn cleared(&self, state: u64, at: Moment) -> u64 {
        if lead(state, at) == 0 { state } else { after(at, 0) }
    }

    #[inline]
    pub(super) const fn is_over(&self, state: u64, at: Moment) -> bool {
        lead(state, at) == 0
    }

    /// Whether a whole window has passed since the state's time.
    pub(super) const fn is_dead(&self, state: u64, at: Moment) -> bool {
        let age = at.tick.wrapping_sub(state) & RING;
        age <= RING / 2 && age >= self.full()
    }

    /// Whether a residue's state may be claimed over.
    pub(super) const fn is_reusable(&self, state: u64, at: Moment) -> bool {
        self.weight(state, at) == 0
    }

    pub(super) const fn over_in(&self, state: u64, at: Moment) -> Nanos {
        match lead(self.settled(state, at), at) {
            0 => Nanos::ZERO,
            lead => self.span(lead, at),
        }
    }

    #[inline]
    pub(super) const fn weight(&self, state: u64, at: Moment) -> u64 {
        lead(state, at)
    }

    pub(super) const fn fresh(&self, before: Option<u64>, at: Moment) -> u64 {
        match before {
            Some(before) if at.tick.wrapping_sub(before) & RING > RING / 2 => self.advanced(before),
            Some(before) if (at.tick ^ before) & RING == 0 => self.advanced(before),
            _ => at.tick & RING,
        }
    }

    pub(super) const fn advanced(&self, state: u64) -> u64 {
        (state + 1) & RING
    }

    const fn full(&self) -> u64 {
        self.burst as u64 * self.interval as u64
    }

    /// By how much a debt may exceed the most and be kept: half of it, or the clocks' disagreement. Each write back
    /// forgives what it takes away, so it must not happen because one thread's clock is behind another's.
    const fn kept(&self) -> u64 {
        let skew = match self.scale {
            0.. => SKEW >> self.scale,
            -7..0 => SKEW << self.scale.unsigned_abs(),
            _ => LONGEST_DEBT,
        };
        let skew = if skew < LONGEST_DEBT / 2 { skew } else { LONGEST_DEBT / 2 };
        if skew > self.full() / 2 { skew } else { self.full() / 2 }
    }

    const fn leeway(&self) -> u64 {
        self.interval as u64 / LEEWAY
    }

    /// The most debt that is admitted.
    const fn most(&self) -> u64 {
        self.full() + self.leeway()
    }

    #[expect(clippy::cast_possible_truncation, reason = "no more than the burst")]
    const fn requests(&self, room: u64) -> u32 {
        match room.checked_div(self.interval as u64) {
            Some(requests) => requests as u32,
            None => 0,
        }
    }

    /// The time until `ticks` after the tick of now began.
    const fn span(&self, ticks: u64, at: Moment) -> Nanos {
        Nanos(self.nanos(ticks).0.saturating_sub(at.fraction))
    }

    const fn nanos(&self, ticks: u64) -> Nanos {
        let scale = self.scale.unsigned_abs() as u32;
        match self.scale {
            0.. if ticks.leading_zeros() < scale => Nanos::MAX,
            0.. => Nanos(ticks << scale),
            _ => Nanos((ticks + (1 << scale) - 1) >> scale),
        }
    }
}

/// A burst that fits a promise, whatever rate it leaves: it is below the promise, and no interval has more than 2,048
/// ticks.
const fn promised(quota: Quota) -> u32 {
    const FITS: u32 = 1 << (STATE_BITS - 2 - TICK_BITS - 1);
    if quota.limit() <= FITS { quota.limit() - 1 } else { FITS }
}

/// An interval in ticks of `2^scale` ns, rounded up.
const fn ticks(period: u64, rate: u32, scale: i8) -> u128 {
    let by = scale.unsigned_abs() as u32;
    let (dividend, divisor) = match scale {
        0.. => (period as u128, (rate as u128) << by),
        _ => ((period as u128) << by, rate as u128),
    };
    // `div_ceil` would panic at a rate of 0, which is refused before.
    match (dividend + divisor).saturating_sub(1).checked_div(divisor) {
        Some(ticks) => ticks,
        None => 0,
    }
}

/// By how many ticks a state lies ahead of the clock; 0 if it lies behind.
const fn lead(state: u64, at: Moment) -> u64 {
    let lead = state.wrapping_sub(at.tick) & RING;
    if lead <= RING / 2 { lead } else { 0 }
}

/// The state of a debt.
const fn after(at: Moment, debt: u64) -> u64 {
    at.tick.wrapping_add(debt) & RING
}
