//! What a table's words come to at a moment, under its rule.

use crate::line::{PLACES, Place, Slot};
use crate::quota::{Arithmetic, Moment};
use crate::word::Word;

/// Brings a word that lies ahead of the clock to now: its owner would, but may never come back. A claim is withdrawn,
/// since its time can't be changed; whoever wanted to commit it starts again.
pub(super) fn settle(rule: &impl Arithmetic, slot: Slot<'_>, word: Word, at: Moment) {
    let state = rule.settled(word.state(), at);
    if state != word.state() && !word.is_empty() {
        slot.swap(word, if word.is_claim() { Word::residue(state) } else { word.with_state(state) });
    }
}

/// Whether any claim may be written over a word.
#[inline]
pub(super) fn is_free(rule: &impl Arithmetic, word: Word, at: Moment) -> bool {
    if word.is_of_a_claim() {
        return is_claim_over(rule, word, at);
    }
    word.is_empty() || rule.is_over(word.state(), at)
}

/// The same of a claim, or of what it left.
#[cold]
fn is_claim_over(rule: &impl Arithmetic, word: Word, at: Moment) -> bool {
    if word.is_claim() {
        rule.is_dead(word.state(), at)
    } else {
        rule.is_reusable(word.state(), at) || rule.is_over(word.state(), at)
    }
}

/// The word that an overflow takes: no claim, the least charged, and of equals one that is nobody's.
pub(super) fn least_charged(
    rule: &impl Arithmetic,
    seen: &[Word; PLACES],
    at: Moment,
) -> Option<(Place, Word)> {
    let mut least = None;
    let mut least_rank = u64::MAX;
    for (place, &word) in seen.iter().enumerate() {
        let rank = rule.weight(word.state(), at) * 2 + u64::from(!word.is_residue());
        if rank < least_rank && !word.is_claim() {
            (least, least_rank) = (Some((place, word)), rank);
        }
    }
    least
}
