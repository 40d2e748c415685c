//! `[ start | count ]`: a window that begins with the caller's own first request.

use super::timed_count::{Side, TimedCount};
use super::{Charge, Layout, Moment, Quota, QuotaError, log2};
use crate::time::Nanos;

/// Windows of a fixed length that admit `limit` requests each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedWindow {
    limit: u32,
    /// The window's length in ticks, 2,048 to 4,095.
    window: u32,
    layout: TimedCount,
}

/// A window has `2^TICK_BITS` ticks or more, and fewer than twice as many.
const TICK_BITS: u32 = 11;

impl FixedWindow {
    #[expect(clippy::cast_possible_truncation, reason = "a window has fewer than 4,096 ticks")]
    pub(super) const fn new(quota: Quota) -> Result<Self, QuotaError> {
        let shift = log2(quota.window().0).saturating_sub(TICK_BITS);
        let window = quota.window().0 >> shift;
        match TimedCount::new(shift, window, quota.limit()) {
            Ok(layout) => Ok(Self { limit: quota.limit(), window: window as u32, layout }),
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
        self.layout.nanos(self.window as u64)
    }

    pub(super) const fn layout(&self) -> Layout {
        let Self { limit, window, layout } = *self;
        let (shift, count_bits) = layout.widths();
        Layout::FixedWindow { limit, window, shift, count_bits, kept: layout.kept(window as u64) }
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
        self.layout.is_like(&other.layout)
    }

    #[inline]
    pub(super) const fn quarter_ring(&self) -> Nanos {
        self.layout.quarter_ring()
    }

    pub(super) const fn moment(&self, now: Nanos) -> Moment {
        self.layout.moment(now)
    }

    #[inline]
    pub(super) const fn charge(&self, state: u64, at: Moment, cost: u32) -> Charge {
        let (start, count) = self.layout.parts(state);
        let window = self.window as u64;
        let (start, count, ends_in) = match self.layout.side(state, at) {
            Side::Past(age) if age < window => (start, count, window - age),
            Side::Past(_) => (self.layout.now(at), 0, window),
            Side::Ahead(lead) if self.layout.keeps(lead, window) => (start, count, window + lead),
            Side::Ahead(_) => (self.layout.now(at), count, window),
        };
        let ends_in = self.layout.span(ends_in, at);
        match count.checked_add(cost) {
            Some(count) if count <= self.limit => Charge::Admitted {
                state: self.layout.state(start, count),
                remaining: self.limit - count,
                resets_in: ends_in,
            },
            _ => Charge::Refused {
                state: self.settled(state, at),
                remaining: self.limit.saturating_sub(count),
                retry_after: ends_in,
            },
        }
    }

    /// What `charge` says while the window runs and did not begin ahead of the clock, in little code; `None` otherwise.
    #[expect(
        clippy::inline_always,
        reason = "what it says is used at once, and through memory is waited for"
    )]
    #[inline(always)]
    pub(crate) const fn charge_running(&self, state: u64, now: Nanos, cost: u32) -> Option<Charge> {
        let at = self.layout.moment(now);
        // A start ahead of the clock is, around the ring, longer past than any window.
        let age = self.layout.age(state, at);
        if age >= self.window as u64 {
            return None;
        }
        let ends_in = self.layout.span(self.window as u64 - age, at);
        let room = self.limit.saturating_sub(self.layout.parts(state).1);
        Some(match room.checked_sub(cost) {
            // The count is in the lowest bits, which have room for the limit.
            Some(remaining) => Charge::Admitted { state: state + cost as u64, remaining, resets_in: ends_in },
            None => Charge::Refused { state, remaining: room, retry_after: ends_in },
        })
    }

    /// The same state, brought to now if it lies too far ahead of the clock.
    #[inline]
    pub(super) const fn settled(&self, state: u64, at: Moment) -> u64 {
        self.layout.settled(state, at, self.window as u64)
    }

    /// Gives back `cost` of what was charged when `charged` was written; `None` if its window has passed.
    pub(super) const fn refund(&self, state: u64, charged: u64, cost: u32, at: Moment) -> Option<u64> {
        let (start, count) = self.layout.parts(state);
        if start != self.layout.parts(charged).0 || self.is_over(state, at) {
            return None;
        }
        Some(self.layout.state(start, count.saturating_sub(cost)))
    }

    /// The state of the same caller without any charge.
    pub(super) const fn cleared(&self, state: u64, _: Moment) -> u64 {
        self.layout.state(self.layout.parts(state).0, 0)
    }

    #[inline]
    pub(super) const fn is_over(&self, state: u64, at: Moment) -> bool {
        self.layout.has_passed(state, at, self.window as u64)
    }

    /// Whether a whole window has passed since the state's time.
    pub(super) const fn is_dead(&self, state: u64, at: Moment) -> bool {
        self.is_over(state, at)
    }

    /// Whether a residue's state may be claimed over.
    pub(super) const fn is_reusable(&self, state: u64, at: Moment) -> bool {
        self.weight(state, at) == 0
    }

    pub(super) const fn over_in(&self, state: u64, at: Moment) -> Nanos {
        self.layout.until(self.settled(state, at), at, self.window as u64)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word::{STATE_BITS, Tag, Word};
    use proptest::prelude::*;

    fn rules() -> impl Strategy<Value = FixedWindow> {
        let windows = prop_oneof![Just(60_000_000_000_u64), 1_000_000_u64..=1_000_000_000_000];
        let rule = |(limit, window)| FixedWindow::new(Quota::new(limit, Nanos(window))).unwrap();
        (1_u32..=1 << 20, windows).prop_map(rule)
    }

    proptest! {
        // The starts are those around now and a window before it, and any on the ring; the counts those around the limit.
        #[test]
        fn a_running_window_is_charged_as_any(
            rule in rules(),
            now: u64,
            (of_window, age) in (0..2_u64, prop_oneof![-3_i64..=3, -40_i64..=40, any::<i64>()]),
            (of_limit, count) in (0..2_u32, prop_oneof![-4_i32..=4, any::<i32>()]),
            cost in prop_oneof![1_u32..=4, 1_u32..=1 << 20],
            fingerprint: u64,
        ) {
            let age = (of_window * u64::from(rule.window)).wrapping_add_signed(age);
            let count = (of_limit * rule.limit).wrapping_add_signed(count);
            let at = rule.moment(Nanos(now));
            let (ring, most) = rule.layout.parts((1 << STATE_BITS) - 1);
            let start = at.tick.wrapping_sub(age) & ring;
            let state = rule.layout.state(start, count & most);
            let is_running = at.tick.wrapping_sub(start) & ring < u64::from(rule.window);
            let charge = rule.charge_running(state, Nanos(now), cost);
            prop_assert_eq!(charge, is_running.then(|| rule.charge(state, at, cost)));
            if let Some(Charge::Admitted { state: after, .. }) = charge {
                let tag = Tag::of(fingerprint);
                prop_assert_eq!(Word::committed(tag, state).plus(cost), Word::committed(tag, after));
            }
        }
    }
}
