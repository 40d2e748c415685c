use super::storage::Lines;
use crate::key::Key;
use crate::line::{Candidates, Line, Slot, WAYS};
use crate::word::Tag;

/// Where a key says its caller may be: disjoint bits for the tag, the first line and the home slot.
pub(super) struct Caller {
    pub(super) tag: Tag,
    pub(super) line: usize,
    pub(super) home: usize,
}

impl Caller {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a table's index is cut to its size anyway")]
    pub(super) const fn of(key: Key) -> Self {
        let bits = key.fingerprint();
        Self { tag: Tag::of(bits), line: (bits as usize) / WAYS, home: bits as usize % WAYS }
    }

    /// Where the caller's word is, most of the time.
    #[inline]
    pub(super) fn home_slot<'t>(&self, storage: &'t impl Lines) -> Option<Slot<'t>> {
        storage.word(self.line * WAYS + self.home).map(Slot::new)
    }

    /// The second line's distance from the first depends on the tag alone and is never 0, so that callers with
    /// one tag and swapped lines have the same candidates.
    pub(super) fn candidates<'t>(&self, lines: &'t [Line]) -> Option<Candidates<'t>> {
        let mask = lines.len().wrapping_sub(1);
        let first = self.line & mask;
        let mixed = ((self.tag.bits().wrapping_mul(GOLDEN) >> 32) * mask as u64) >> 32;
        let second = first ^ (mixed as usize + 1) & mask;
        Some(Candidates::new((first, lines.get(first)?), (second, lines.get(second)?), self.home, self.tag))
    }
}

/// 2⁶⁴ / φ, which spreads consecutive numbers (Knuth, TAOCP 3, §6.4).
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
