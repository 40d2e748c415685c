//! One cache line of eight words, and the two lines in which a caller may be.
//!
//! Everything that touches an atomic of the table is in this file. What a slot can hold, and who may write
//! over it:
//!
//! | word | is | may be overwritten |
//! |---|---|---|
//! | empty | nothing | by any claim |
//! | committed | a caller's charge | by its caller's charges; when its window is over, by any claim; before that by an overflow |
//! | claim | somebody inserts this caller | by [`Candidates::resolve`] (commit or withdraw); a window later by any claim, since its author died |
//! | residue | a withdrawn claim's state | as a committed word; if it carries no charge, by any claim |
//!
//! # Why a caller has at most one committed word
//! Whoever finds no word of its caller claims a slot and then *resolves* the claim: it looks at all candidates
//! again and commits only if it sees no other word of the caller. Say that claims A and B of one caller stand
//! in two slots, and that a thread is about to commit each of them.
//!
//! 1. Both threads have put a fence between having seen their claim in its slot and looking at the others. One
//!    of the fences comes first in the single order of all of them, so the thread of the other sees both claims.
//! 2. That thread withdraws one of the two: its own if the other is earlier in the order or committed, else the
//!    other. Both threads would choose the same, since the order is by place and not by caller or thread.
//! 3. A commit is a compare-and-swap from the claim's exact word. It fails once the claim was withdrawn, and the
//!    same word never stands in that slot again: a residue keeps the claim's time, and a claim over it takes a
//!    later one (rule 6, [`Arithmetic::fresh`] and [`Arithmetic::advanced`]).
//!
//! Anybody may resolve a claim that it finds, so no thread waits for another: not for one that was preempted,
//! and not for one that it has itself interrupted.

use crate::flaw;
use crate::quota::{Arithmetic, Charge, Moment};
use crate::sync::{AtomicU64, HOME_FIRST, Ordering, fence};
use crate::word::{Tag, Word};
use crate::work;

/// Words in a cache line. Loom explores lines of two: more would add words of strangers that nobody touches.
pub(crate) const WAYS: usize = if cfg!(tollgate_loom) { 2 } else { 8 };
/// Slots in which a caller may be.
pub(crate) const PLACES: usize = 2 * WAYS;

/// One cache line.
pub(crate) type Line = [AtomicU64; WAYS];

/// One word of a line.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'t>(&'t AtomicU64);

impl<'t> Slot<'t> {
    /// A word by itself.
    pub(crate) const fn new(word: &'t AtomicU64) -> Self {
        Self(word)
    }

    #[inline]
    pub(crate) fn of(line: &'t Line, way: usize) -> Self {
        Self(&line[way % WAYS])
    }

    #[inline]
    pub(crate) fn load(self) -> Word {
        // ORDERING: a word is all there is to know, so nothing else need be seen with it. Where a decision rests
        // on the absence of a word, `resolve` looks again behind a fence.
        work::loaded();
        Word::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Writes `to` if `from` still stands here; whether it did.
    #[inline]
    pub(crate) fn swap(self, from: Word, to: Word) -> bool {
        // ORDERING: a swap reads the latest word of its slot whatever the ordering, and orders no other memory;
        // a claim's order against the look at other slots comes from the fence in `resolve`.
        work::swapped();
        self.0.compare_exchange(from.bits(), to.bits(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// A candidate's place among the sixteen, which is also its rank: by line, then by slot.
pub(crate) type Place = usize;

/// The sixteen slots in which one caller may be.
#[derive(Clone, Copy)]
pub(crate) struct Candidates<'t> {
    /// The two lines in the order of the table, so that callers who share them agree on the places' order.
    lines: [&'t Line; 2],
    /// Which of the two is the caller's first.
    first: usize,
    /// Its home slot, in either line.
    home: usize,
    tag: Tag,
}

/// How a resolution ended.
pub(crate) enum Resolution {
    /// The request has its answer.
    Settled(Charge),
    /// The claim is gone or its caller has a word elsewhere: start again.
    Again,
}

impl<'t> Candidates<'t> {
    /// The candidates in `lines`, each with its index in the table; the first is the caller's first.
    pub(crate) fn new(first: (usize, &'t Line), second: (usize, &'t Line), home: usize, tag: Tag) -> Self {
        if first.0 < second.0 {
            Self { lines: [first.1, second.1], first: 0, home, tag }
        } else {
            Self { lines: [second.1, first.1], first: 1, home, tag }
        }
    }

    #[inline]
    pub(crate) fn slot(&self, place: Place) -> Slot<'t> {
        Slot::of(self.lines[place / WAYS % 2], place)
    }

    /// The first place of the caller's first (0) or second (1) line.
    pub(crate) const fn start(&self, which: usize) -> Place {
        (self.first ^ which) % 2 * WAYS
    }

    /// The caller's home slot, in either line.
    pub(crate) const fn home(&self) -> usize {
        self.home
    }

    pub(crate) const fn tag(&self) -> Tag {
        self.tag
    }

    /// The caller's word or somebody's claim for it. If there is none, `seen` holds the words of all places.
    ///
    /// The second line comes first: the first is in a cache, since the caller's home slot was looked at, so that nobody waits
    /// for one of them before asking for the other. Where code is scarce nothing was looked at, and there is no cache.
    #[inline]
    pub(crate) fn find(&self, seen: &mut [Word; PLACES]) -> Option<(Place, Word)> {
        let begin = if HOME_FIRST { 0 } else { self.home };
        for turn in 0..2 {
            let start = self.start(if cfg!(target_has_atomic = "64") { 1 - turn } else { turn });
            for step in 0..WAYS {
                let place = start + (begin + step) % WAYS;
                let word = self.slot(place).load();
                if word.belongs_to(self.tag) {
                    return Some((place, word));
                }
                seen[place % PLACES] = word;
            }
        }
        None
    }

    /// The caller's charge, past any claim for it: a claim is withdrawn where a charge is, so it says nothing of one.
    pub(crate) fn committed(&self) -> Option<(Place, Word)> {
        let places = (0..PLACES).map(|step| self.start(0) ^ step);
        places.map(|place| (place, self.slot(place).load())).find(|(_, word)| word.is_committed_by(self.tag))
    }

    /// Brings the caller's claim at `place` to an end: commits it with `cost` charged, or withdraws it because
    /// the caller has a word elsewhere. Whoever commits has thereby been admitted.
    ///
    /// `withdrawn` is called for each claim that is taken back.
    #[cold]
    pub(crate) fn resolve(
        &self,
        place: Place,
        claim: Word,
        rule: &impl Arithmetic,
        at: Moment,
        cost: u32,
        mut withdrawn: impl FnMut(),
    ) -> Resolution {
        'look: loop {
            if !flaw::no_fence() {
                // ORDERING: pairs with this fence in every other thread that resolves a claim of this caller: of
                // two threads that have each seen a claim, at least one sees both. A SeqCst load would not do:
                // the claims were written by other, relaxed operations. Without it two words get committed.
                fence(Ordering::SeqCst);
            }
            for other in 0..PLACES {
                if other == place {
                    continue;
                }
                let word = Slot::of(self.lines[other / WAYS], other).load();
                if !word.belongs_to(self.tag) {
                    continue;
                }
                if !word.is_claim() || other < place {
                    if self.withdraw(place, claim, rule, at) {
                        withdrawn();
                    }
                    return Resolution::Again;
                }
                if !self.withdraw(other, word, rule, at) {
                    continue 'look;
                }
                withdrawn();
            }
            return match rule.charge(claim.state(), at, cost) {
                charge @ Charge::Admitted { state, .. } => {
                    if self.slot(place).swap(claim, Word::committed(self.tag, state)) {
                        Resolution::Settled(charge)
                    } else {
                        Resolution::Again
                    }
                }
                refused @ Charge::Refused { .. } => Resolution::Settled(refused),
            };
        }
    }

    /// Takes a claim back. Its state stays, so that the next claim of this slot knows which time is taken.
    fn withdraw(&self, place: Place, claim: Word, rule: &impl Arithmetic, at: Moment) -> bool {
        let leave = if flaw::no_rule_6() && rule.is_reusable(claim.state(), at) {
            Word::EMPTY
        } else {
            Word::residue(claim.state())
        };
        self.slot(place).swap(claim, leave)
    }
}
