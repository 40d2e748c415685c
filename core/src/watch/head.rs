//! The layout of a caller's word: `[ tag 24 | tick 8 | refused 1 | bare 1 | weight 30 ]`, all zero for a vacant place.

use core::fmt;

use crate::key::Key;

/// What tells the callers of a set apart; never zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag(u64);

impl Tag {
    /// The uppermost bits of a fingerprint; a tag that would be zero is 1.
    pub(super) const fn of(key: Key) -> Self {
        match key.fingerprint() >> TAG_SHIFT {
            0 => Self(1),
            tag => Self(tag),
        }
    }
}

/// One place's content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Head(u64);

impl Head {
    pub(super) const VACANT: Self = Self(0);

    /// A caller that was just entered, whose entry still tells of another.
    pub(super) const fn entered(tag: Tag, tick: u8, refused: bool, weight: u32) -> Self {
        let weight = if weight > HEAVIEST { HEAVIEST } else { weight };
        let refused = if refused { REFUSED } else { 0 };
        Self(tag.0 << TAG_SHIFT | (tick as u64) << TICK_SHIFT | refused | BARE | weight as u64)
    }

    /// The same caller, seen again. A near refusal leaves no trace on a caller that was refused.
    #[inline]
    pub(super) const fn again(self, tick: u8, refused: bool) -> Self {
        if self.was_refused() && !refused {
            return self;
        }
        let at = Self(self.0 & !TICK | (tick as u64) << TICK_SHIFT);
        match refused {
            true if self.weight() < HEAVIEST => Self((at.0 | REFUSED) + 1),
            true => Self(at.0 | REFUSED),
            false => at,
        }
    }

    /// The same caller, once its entry tells of it.
    pub(super) const fn told(self) -> Self {
        Self(self.0 & !BARE)
    }

    #[inline]
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    pub(super) const fn is_vacant(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(super) const fn belongs_to(self, tag: Tag) -> bool {
        self.0 >> TAG_SHIFT == tag.0
    }

    /// Whether another place's caller is the same.
    pub(super) const fn is_same(self, other: Self) -> bool {
        self.0 >> TAG_SHIFT == other.0 >> TAG_SHIFT
    }

    /// When it was last refused or, if it never was, last seen.
    #[inline]
    pub(super) const fn tick(self) -> u8 {
        (self.0 >> TICK_SHIFT).to_le_bytes()[0]
    }

    #[inline]
    pub(super) const fn was_refused(self) -> bool {
        self.0 & REFUSED != 0
    }

    /// Whether its entry still tells of another caller.
    #[inline]
    pub(super) const fn is_bare(self) -> bool {
        self.0 & BARE != 0
    }

    /// The most that it can have been refused.
    #[inline]
    pub(super) const fn weight(self) -> u32 {
        let [a, b, c, d, ..] = (self.0 & HEAVIEST as u64).to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_vacant() {
            return f.write_str("vacant");
        }
        let state = if self.was_refused() { "refused" } else { "near" };
        let bare = if self.is_bare() { ", bare" } else { "" };
        let (tag, tick, weight) = (self.0 >> TAG_SHIFT, self.tick(), self.weight());
        write!(f, "{state}(tag {tag:06x}, tick {tick}, weight {weight}{bare})")
    }
}

/// The largest weight, at which counting stops.
pub(super) const HEAVIEST: u32 = (1 << 30) - 1;

const BARE: u64 = 1 << 30;
const REFUSED: u64 = 1 << 31;
const TICK_SHIFT: u32 = 32;
const TICK: u64 = 0xff << TICK_SHIFT;
const TAG_SHIFT: u32 = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_come_back(fingerprint: u64, tick: u8, then: u8, refused: bool, again: bool, weight in 0..HEAVIEST) {
            let tag = Tag::of(Key::from_fingerprint(fingerprint));
            let head = Head::entered(tag, tick, refused, weight);
            prop_assert!(head.belongs_to(tag) && head.is_bare() && !head.is_vacant() && !head.told().is_bare());
            prop_assert_eq!((head.tick(), head.was_refused(), head.weight()), (tick, refused, weight));
            let seen = head.told().again(then, again);
            let at = if refused && !again { tick } else { then };
            prop_assert!(seen.belongs_to(tag) && !seen.is_bare() && head.again(then, again).is_bare());
            prop_assert_eq!((seen.tick(), seen.was_refused()), (at, refused || again));
            prop_assert_eq!(seen.weight(), weight + u32::from(again));
        }
    }

    #[test]
    fn no_tag_is_zero_no_weight_overflows_and_debug_prints_the_meaning() {
        let tag = Tag::of(Key::from_fingerprint(0));
        let head = Head::entered(tag, 7, true, u32::MAX);
        assert_eq!(head.weight(), HEAVIEST);
        assert_eq!(head.again(7, true), head);
        assert_eq!(format!("{head:?}"), "refused(tag 000001, tick 7, weight 1073741823, bare)");
        assert_eq!(
            format!("{:?}", Head::entered(tag, 7, false, 3).told()),
            "near(tag 000001, tick 7, weight 3)"
        );
        assert_eq!(format!("{:?}", Head::VACANT), "vacant");
    }
}
