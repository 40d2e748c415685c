//! The layout of a caller's word: `[ tag 27 | claim 1 | state 36 ]`, all zero for an empty slot.
//!
//! | tag | claim | is |
//! |---|---|---|
//! | 0 | 0 | empty |
//! | 0 | 1 | a residue: a claim that was withdrawn, so that it is nobody's |
//! | other | 0 | committed: a caller's charge |
//! | other | 1 | a claim: somebody is inserting this caller |

use core::fmt;

/// Bits of a word that belong to the quota.
pub(crate) const STATE_BITS: u32 = 36;
/// Bits of a word that tell callers apart.
pub(crate) const TAG_BITS: u32 = 27;

const STATE: u64 = (1 << STATE_BITS) - 1;
const CLAIM: u64 = 1 << STATE_BITS;
const TAG_SHIFT: u32 = STATE_BITS + 1;
const TAG: u64 = !(CLAIM | STATE);

/// The part of a caller's key that its word carries; never zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag(u64);

impl Tag {
    /// The tag in the uppermost bits of a fingerprint; one that would be zero is 1.
    pub(crate) const fn of(fingerprint: u64) -> Self {
        match fingerprint >> (u64::BITS - TAG_BITS) {
            0 => Self(1),
            tag => Self(tag),
        }
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }
}

/// One slot's content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    pub(crate) const EMPTY: Self = Self(0);

    /// A caller's charge.
    #[inline]
    pub(crate) const fn committed(tag: Tag, state: u64) -> Self {
        Self(tag.0 << TAG_SHIFT | state & STATE)
    }

    /// The announcement that somebody is inserting a caller.
    #[inline]
    pub(crate) const fn claim(tag: Tag, state: u64) -> Self {
        Self(tag.0 << TAG_SHIFT | CLAIM | state & STATE)
    }

    /// What a withdrawn claim leaves behind: its state, owned by nobody.
    pub(crate) const fn residue(state: u64) -> Self {
        Self(CLAIM | state & STATE)
    }

    /// The same word with another state.
    pub(crate) const fn with_state(self, state: u64) -> Self {
        Self(self.0 & !STATE | state & STATE)
    }

    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) const fn state(self) -> u64 {
        self.0 & STATE
    }

    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it is a claim or what one left behind: rare, and short-lived or over soon.
    #[inline]
    pub(crate) const fn is_of_a_claim(self) -> bool {
        self.0 & CLAIM != 0
    }

    #[inline]
    pub(crate) const fn is_claim(self) -> bool {
        self.is_of_a_claim() && !self.is_residue()
    }

    pub(crate) const fn is_residue(self) -> bool {
        self.0 >> STATE_BITS == 1
    }

    /// Whether it is this caller's charge.
    #[inline]
    pub(crate) const fn is_committed_by(self, tag: Tag) -> bool {
        self.0 >> STATE_BITS == tag.0 << 1
    }

    /// The state, if it is the charge of the caller with this fingerprint, in the fewest steps: not of the one caller in 2²⁷
    /// whose tag is not what stands in the fingerprint.
    #[inline]
    pub(crate) const fn state_of(self, fingerprint: u64) -> Option<u64> {
        let tag = fingerprint & TAG;
        // Without the tag, more than a state is left of another's word and of a claim.
        let state = self.0 ^ tag;
        if tag != 0 && state <= STATE { Some(state) } else { None }
    }

    /// The same word with a state that is greater by `cost`.
    #[inline]
    pub(crate) const fn plus(self, cost: u32) -> Self {
        Self(self.0.wrapping_add(cost as u64))
    }

    /// Whether it is this caller's, committed or claimed.
    #[inline]
    pub(crate) const fn belongs_to(self, tag: Tag) -> bool {
        self.0 >> TAG_SHIFT == tag.0
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tag, state) = (self.0 >> TAG_SHIFT, self.state());
        match self {
            _ if self.is_empty() => f.write_str("empty"),
            _ if self.is_residue() => write!(f, "residue(state {state:09x})"),
            _ if self.is_claim() => write!(f, "claim(tag {tag:07x}, state {state:09x})"),
            _ => write!(f, "committed(tag {tag:07x}, state {state:09x})"),
        }
    }
}

/// What a fuzz target may ask of words, which are private otherwise.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    use super::{Tag, Word};

    /// The words of a caller and of nobody with a state: committed, claimed, withdrawn.
    pub fn encoded(fingerprint: u64, state: u64) -> [u64; 3] {
        let tag = Tag::of(fingerprint);
        [Word::committed(tag, state), Word::claim(tag, state), Word::residue(state)].map(Word::bits)
    }

    /// The state of any word, and whether it is empty, a claim, a residue, the caller's, and the caller's charge, asked in
    /// two ways.
    pub fn decoded(bits: u64, fingerprint: u64) -> (u64, [bool; 6]) {
        let (word, tag) = (Word::from_bits(bits), Tag::of(fingerprint));
        let is = [
            word.is_empty(),
            word.is_claim(),
            word.is_residue(),
            word.belongs_to(tag),
            word.is_committed_by(tag),
            word.state_of(fingerprint).is_some(),
        ];
        (word.state(), is)
    }

    /// The same word with another state.
    pub fn moved(bits: u64, state: u64) -> u64 {
        Word::from_bits(bits).with_state(state).bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_come_back(fingerprint: u64, state in 0..=STATE) {
            let tag = Tag::of(fingerprint);
            for (word, claim) in [(Word::committed(tag, state), false), (Word::claim(tag, state), true)] {
                prop_assert!(word.belongs_to(tag) && !word.is_residue() && !word.is_empty());
                prop_assert_eq!((word.state(), word.is_claim()), (state, claim));
                prop_assert_eq!(word.is_committed_by(tag), !claim);
                prop_assert_eq!(word.state_of(fingerprint), (!claim).then_some(state));
                prop_assert_eq!(Word::from_bits(word.bits()), word);
            }
            let residue = Word::residue(state);
            prop_assert!(residue.is_residue() && !residue.is_claim() && !residue.is_empty());
            prop_assert!(!residue.belongs_to(tag) && residue.state() == state);
        }
    }

    #[test]
    fn an_empty_slot_is_nobody_s() {
        for fingerprint in [0, 1, u64::MAX >> TAG_BITS, u64::MAX] {
            let words = [Word::EMPTY, Word::residue(0), Word::claim(Tag::of(fingerprint), 0)];
            assert!(words.iter().all(|word| word.state_of(fingerprint).is_none()));
        }
        assert_eq!(Word::committed(Tag::of(0), 7).state_of(0), None);
    }

    #[test]
    fn no_tag_is_zero_and_debug_prints_the_meaning() {
        assert_eq!(Tag::of(0).bits(), 1);
        assert_eq!(Tag::of(u64::MAX).bits(), (1 << TAG_BITS) - 1);
        let tag = Tag::of(0x5 << (64 - TAG_BITS));
        assert_eq!(format!("{:?}", Word::claim(tag, 0x1f)), "claim(tag 0000005, state 00000001f)");
        assert_eq!(format!("{:?}", Word::EMPTY), "empty");
        assert_eq!(format!("{:?}", Word::residue(1)), "residue(state 000000001)");
    }
}
