//! `[ time | count ]`, the layout that several rules share: a tick on a ring, and a number.

use super::{Moment, SKEW, log2};
use crate::time::Nanos;
use crate::word::STATE_BITS;

/// Field widths and the length of a tick.
///
/// The time is a tick on a ring of 2ⁿ, where n is what the count leaves of the state; half of the ring is past, half
/// is ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TimedCount {
    /// A tick has 2^shift nanoseconds.
    shift: u8,
    count_bits: u8,
    /// All bits of a time.
    ring_mask: u64,
    /// All bits of a count.
    count_mask: u32,
}

/// On which side of now a tick lies, and by how many ticks.
pub(super) enum Side {
    Past(u64),
    Ahead(u64),
}

/// A ring is at least this many times as long as the longest span that a rule measures, so that "past" and "ahead" can
/// be told apart.
const SHORTEST_RING: u64 = 4;

/// A rule that measures a span keeps a lead of span / LEAD, which is sixteen ticks or more.
const LEAD: u64 = 128;

impl TimedCount {
    /// The layout for ticks of `2^shift` ns, spans of up to `longest` ticks and counts of up to `most`; the largest
    /// count that fits if this one does not.
    #[expect(clippy::cast_possible_truncation, reason = "both are numbers of bits in a word")]
    pub(super) const fn new(shift: u32, longest: u64, most: u32) -> Result<Self, u32> {
        let ring_bits = log2(longest * SHORTEST_RING - 1) + 1;
        let room = STATE_BITS.saturating_sub(ring_bits);
        let count_bits = u32::BITS - most.leading_zeros();
        if count_bits > room {
            return Err(((1_u64 << room) - 1) as u32);
        }
        let ring_mask = (1 << (STATE_BITS - count_bits)) - 1;
        Ok(Self {
            shift: shift as u8,
            count_bits: count_bits as u8,
            ring_mask,
            count_mask: ((1_u64 << count_bits) - 1) as u32,
        })
    }

    #[inline]
    pub(super) const fn moment(&self, now: Nanos) -> Moment {
        Moment {
            tick: (now.0 >> self.shift).wrapping_add(1),
            elapsed: 0,
            fraction: now.0 & ((1 << self.shift) - 1),
        }
    }

    /// Whether states of one layout mean the same under the other.
    pub(super) const fn is_like(&self, other: &Self) -> bool {
        self.shift == other.shift && self.count_bits == other.count_bits
    }

    /// The tick of now, as a state holds it.
    #[inline]
    pub(super) const fn now(&self, at: Moment) -> u64 {
        at.tick & self.ring_mask
    }

    #[expect(clippy::cast_possible_truncation, reason = "a count has fewer than 32 bits")]
    #[inline]
    pub(super) const fn parts(&self, state: u64) -> (u64, u32) {
        (state >> self.count_bits, state as u32 & self.count_mask)
    }

    #[inline]
    pub(super) const fn state(&self, time: u64, count: u32) -> u64 {
        time << self.count_bits | count as u64
    }

    /// Where a state's time lies.
    #[inline]
    pub(super) const fn side(&self, state: u64, at: Moment) -> Side {
        let age = self.age(state, at);
        let half = self.ring_mask / 2;
        if age <= half { Side::Past(age) } else { Side::Ahead(self.ring_mask + 1 - age) }
    }

    /// Whether `span` ticks have passed since a state's time.
    #[inline]
    pub(super) const fn has_passed(&self, state: u64, at: Moment, span: u64) -> bool {
        // From `span` to half a ring, asked as one question.
        self.age(state, at).wrapping_sub(span) <= self.ring_mask / 2 - span
    }

    /// How many ticks a state's time lies before now, around the ring.
    #[inline]
    pub(super) const fn age(&self, state: u64, at: Moment) -> u64 {
        at.tick.wrapping_sub(state >> self.count_bits) & self.ring_mask
    }

    /// The time from now until `span` ticks after a state's time.
    pub(super) const fn until(&self, state: u64, at: Moment, span: u64) -> Nanos {
        match self.side(state, at) {
            Side::Past(age) if age >= span => Nanos::ZERO,
            Side::Past(age) => self.span(span - age, at),
            Side::Ahead(lead) => self.span(span + lead, at),
        }
    }

    /// The same state, with the time now if it lies too far ahead of the clock: further than rule 6 puts it in a rule
    /// that measures `span`, and than clocks disagree. A smaller lead is kept: written back, a claim could recur, and
    /// each of two clocks would undo what the other one wrote.
    #[inline]
    pub(super) const fn settled(&self, state: u64, at: Moment, span: u64) -> u64 {
        match self.side(state, at) {
            Side::Ahead(lead) if !self.keeps(lead, span) => self.state(self.now(at), self.parts(state).1),
            _ => state,
        }
    }

    /// Whether a lead of so many ticks is left as it is by a rule that measures `span`.
    #[inline]
    pub(super) const fn keeps(&self, lead: u64, span: u64) -> bool {
        lead <= span / LEAD || lead <= self.skew()
    }

    /// The largest lead of which that is so.
    pub(super) const fn kept(&self, span: u64) -> u64 {
        let (lead, skew) = (span / LEAD, self.skew());
        if lead > skew { lead } else { skew }
    }

    /// How far clocks may disagree, in ticks; on a short ring, as far as it can be told from the past.
    const fn skew(&self) -> u64 {
        let (skew, most) = (SKEW >> self.shift, self.ring_mask / 64);
        if skew < most { skew } else { most }
    }

    /// No charge, now or a tick after the time of the word that stood here.
    pub(super) const fn fresh(&self, before: Option<u64>, at: Moment) -> u64 {
        match before {
            Some(before) if !matches!(self.side(before, at), Side::Past(1..)) => {
                self.advanced(self.state(self.parts(before).0, 0))
            }
            _ => self.state(self.now(at), 0),
        }
    }

    pub(super) const fn advanced(&self, state: u64) -> u64 {
        let (time, count) = self.parts(state);
        self.state((time + 1) & self.ring_mask, count)
    }

    /// The time from now until `ticks` after the tick of now began.
    #[inline]
    pub(super) const fn span(&self, ticks: u64, at: Moment) -> Nanos {
        Nanos((ticks << self.shift) - at.fraction)
    }

    /// The whole ticks in a span.
    pub(super) const fn ticks(&self, span: Nanos) -> u64 {
        span.0 >> self.shift
    }

    /// The tick that comes so many ticks after now, as a state holds it.
    pub(super) const fn after(&self, at: Moment, ticks: u64) -> u64 {
        at.tick.wrapping_add(ticks) & self.ring_mask
    }

    /// A tick has 2^first nanoseconds; the second is the count's width.
    pub(super) const fn widths(&self) -> (u8, u8) {
        (self.shift, self.count_bits)
    }

    /// A number of ticks in nanoseconds.
    pub(super) const fn nanos(&self, ticks: u64) -> Nanos {
        Nanos(ticks << self.shift)
    }

    pub(super) const fn quarter_ring(&self) -> Nanos {
        let quarter = (self.ring_mask + 1) / 4;
        // A ring of long ticks may be longer than all time.
        if quarter.leading_zeros() < self.shift as u32 { Nanos::MAX } else { self.nanos(quarter) }
    }
}
