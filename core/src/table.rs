//! The lines, a caller's two candidate lines, and what happens when they are full.

use crate::counters::Counters;
use crate::flaw;
use crate::key::Key;
use crate::line::{Candidates, Line, PLACES, Place, Resolution, Search, Slot, WAYS};
use crate::quota::{Charge, Moment, Rule};
use crate::time::Nanos;
use crate::verdict::{Basis, Reason, Refusal, Standing, Verdict};
use crate::word::{Tag, Word};

pub(crate) mod storage;

use storage::Lines;

/// What happens to a newcomer when each of its sixteen candidate slots restrains somebody.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Overflow {
    /// The least-charged word is taken over and the newcomer starts with its count (Space-Saving: Metwally,
    /// Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams", 2005).
    /// A caller at its limit is never displaced: if all are, the newcomer is refused. So nobody can flush its
    /// own counter by sending from many addresses.
    #[default]
    Inherit,
    /// The least-charged word is taken over and the newcomer starts afresh; the displaced caller is forgotten.
    /// Newcomers are never refused, and a flood of them erases counts, in the end even those at their limit.
    Forget,
    /// The newcomer is refused until a word is free.
    Refuse,
    /// The newcomer passes uncounted.
    Admit,
}

/// Lines of words under one rule.
pub(crate) struct Table<S> {
    storage: S,
    rule: Rule,
    pub(crate) overflow: Overflow,
    pub(crate) counters: Counters,
}

/// A newcomer goes to its first line while this many of its words are free, so while fewer than six restrain
/// somebody; else to the emptier of its two lines.
const ROOMY: u32 = 3;

impl<S: Lines> Table<S> {
    pub(crate) const fn new(storage: S, rule: Rule) -> Self {
        Self { storage, rule, overflow: Overflow::Inherit, counters: Counters::new() }
    }

    /// Decides one request of `cost`.
    #[inline]
    pub(crate) fn check(&self, key: Key, now: Nanos, cost: u32) -> Verdict {
        let lines = self.storage.lines();
        let at = self.rule.moment(now);
        let caller = Caller::of(key);
        loop {
            let home = Slot::of(caller.first_line(lines), caller.home);
            let word = home.load();
            let (slot, word) = if word.is_committed_by(caller.tag) {
                (home, word)
            } else {
                match self.look_further(&caller, word, lines, at, cost) {
                    Next::Found(slot, word) => (slot, word),
                    Next::Answer(verdict) => return verdict,
                    Next::Again => continue,
                }
            };
            match self.rule.charge(word.state(), at, cost) {
                Charge::Admitted { state, remaining, resets_in } => {
                    if slot.swap(word, Word::committed(caller.tag, state)) {
                        return Verdict::Admitted(Standing::new(self.rule.limit(), remaining, resets_in));
                    }
                }
                Charge::Refused { state, retry_after } => {
                    if state != word.state() {
                        // The state lay ahead of the clock. If somebody else was faster, it no longer does.
                        slot.swap(word, Word::committed(caller.tag, state));
                    }
                    return self.refused(retry_after, Reason::OverLimit);
                }
            }
        }
    }

    /// Clears words whose window is over, so that a ring of times can't bring them back; how many.
    ///
    /// Decisions may go on meanwhile.
    pub(crate) fn sweep(&self, now: Nanos) -> usize {
        let at = self.rule.moment(now);
        let slots = self.storage.lines().iter().flat_map(|line| (0..WAYS).map(|way| Slot::of(line, way)));
        let over = slots.filter(|slot| {
            let word = slot.load();
            !word.is_empty() && self.rule.is_over(word.state(), at) && slot.swap(word, Word::EMPTY)
        });
        over.count()
    }

    pub(crate) const fn rule(&self) -> &Rule {
        &self.rule
    }

    pub(crate) fn capacity(&self) -> usize {
        self.storage.lines().len() * WAYS
    }

    #[inline(never)]
    fn look_further<'t>(
        &self,
        caller: &Caller,
        home: Word,
        lines: &'t [Line],
        at: Moment,
        cost: u32,
    ) -> Next<'t> {
        let candidates = caller.candidates(lines);
        match candidates.find(home) {
            Search::Found(place, word) if !word.is_claim() => Next::Found(candidates.slot(place), word),
            Search::Found(place, claim) => self.resolve(&candidates, place, claim, Basis::Own, at, cost),
            Search::Absent(seen) => self.insert(&candidates, &seen, caller.tag, at, cost),
        }
    }

    #[cold]
    fn insert<'t>(
        &self,
        candidates: &Candidates<'t>,
        seen: &[Word; PLACES],
        tag: Tag,
        at: Moment,
        cost: u32,
    ) -> Next<'t> {
        let (place, state, basis) = match self.choose(candidates, seen, at, cost) {
            Ok(choice) => choice,
            Err(verdict) => return Next::Answer(verdict),
        };
        if flaw::naive_insert() {
            return match self.rule.charge(state, at, cost) {
                charge @ Charge::Admitted { state, .. } => {
                    let word = Word::committed(tag, state);
                    let won = candidates.slot(place).swap(seen[place % PLACES], word);
                    if won { Next::Answer(self.verdict(charge, basis)) } else { Next::Again }
                }
                refused @ Charge::Refused { .. } => Next::Answer(self.verdict(refused, basis)),
            };
        }
        let claim = Word::claim(tag, state);
        if !candidates.slot(place).swap(seen[place % PLACES], claim) {
            return Next::Again;
        }
        match basis {
            Basis::Inherited => self.counters.inherited.add(1),
            Basis::TookOver => self.counters.taken_over.add(1),
            Basis::Own | Basis::Uncounted => {}
        }
        self.resolve(candidates, place, claim, basis, at, cost)
    }

    fn resolve<'t>(
        &self,
        candidates: &Candidates<'t>,
        place: Place,
        claim: Word,
        basis: Basis,
        at: Moment,
        cost: u32,
    ) -> Next<'t> {
        let withdrawn = || self.counters.withdrawn.add(1);
        match candidates.resolve(place, claim, &self.rule, at, cost, withdrawn) {
            Resolution::Settled(charge) => Next::Answer(self.verdict(charge, basis)),
            Resolution::Again => Next::Again,
        }
    }

    /// Where a newcomer goes, with which state and on whose count; or the answer if there is no place for it.
    fn choose(
        &self,
        candidates: &Candidates<'_>,
        seen: &[Word; PLACES],
        at: Moment,
        cost: u32,
    ) -> Result<(Place, u64, Basis), Verdict> {
        let free = |which: usize| {
            candidates
                .line(which)
                .filter(|&place| self.is_free(seen[place % PLACES], at))
                .fold(0_u32, |set, place| set | 1 << place)
        };
        let (first, second) = (free(0), free(1));
        let crowded = first.count_ones() < ROOMY;
        let which = usize::from(crowded && second.count_ones() > first.count_ones());
        let free = if which == 0 { first } else { second };
        if free == 0 {
            return self.overflowed(seen, at, cost);
        }
        let home = candidates.home(which);
        let place = if free >> home & 1 == 1 { home } else { free.trailing_zeros() as Place };
        let old = seen[place % PLACES];
        let before = (!old.is_empty() && !flaw::no_rule_6()).then_some(old.state());
        Ok((place, self.rule.fresh(before, at), Basis::Own))
    }

    #[cold]
    fn overflowed(
        &self,
        seen: &[Word; PLACES],
        at: Moment,
        cost: u32,
    ) -> Result<(Place, u64, Basis), Verdict> {
        let victims = seen.iter().enumerate().filter(|(_, word)| !word.is_claim());
        let victim = victims.min_by_key(|(_, word)| (self.rule.weight(word.state()), !word.is_residue()));
        let soonest = || {
            let waits = seen.iter().map(|word| self.rule.over_in(word.state(), at));
            waits.min().unwrap_or(self.rule.window())
        };
        match (self.overflow, victim) {
            (Overflow::Admit, _) => {
                self.counters.uncounted.add(1);
                let remaining = self.rule.limit().saturating_sub(cost);
                let standing = Standing::new(self.rule.limit(), remaining, self.rule.window());
                Err(Verdict::Admitted(Standing { basis: Basis::Uncounted, ..standing }))
            }
            (_, None) => {
                self.counters.contended.add(1);
                Err(self.refused(self.rule.shortest_wait(), Reason::Contended))
            }
            (Overflow::Forget, Some((place, word))) => {
                let before = (!flaw::no_rule_6()).then_some(word.state());
                Ok((place, self.rule.fresh(before, at), Basis::TookOver))
            }
            (Overflow::Inherit, Some((place, word)))
                if matches!(self.rule.charge(word.state(), at, cost), Charge::Admitted { .. }) =>
            {
                let advance = word.is_residue() && !flaw::no_rule_6();
                let state = if advance { self.rule.advanced(word.state()) } else { word.state() };
                Ok((place, state, Basis::Inherited))
            }
            (Overflow::Inherit | Overflow::Refuse, Some(_)) => {
                self.counters.refused_by_overflow.add(1);
                Err(self.refused(soonest(), Reason::Overflow))
            }
        }
    }

    /// Whether any claim may be written over a word.
    fn is_free(&self, word: Word, at: Moment) -> bool {
        word.is_empty()
            || word.is_residue() && self.rule.weight(word.state()) == 0
            || self.rule.is_over(word.state(), at)
    }

    fn verdict(&self, charge: Charge, basis: Basis) -> Verdict {
        match charge {
            Charge::Admitted { remaining, resets_in, .. } => {
                let standing = Standing::new(self.rule.limit(), remaining, resets_in);
                Verdict::Admitted(Standing { basis, ..standing })
            }
            Charge::Refused { retry_after, .. } => self.refused(retry_after, Reason::OverLimit),
        }
    }

    fn refused(&self, retry_after: Nanos, reason: Reason) -> Verdict {
        Verdict::Refused(Refusal::new(self.rule.limit(), retry_after, reason))
    }
}

/// What to do after the home slot did not hold the caller.
enum Next<'t> {
    Found(Slot<'t>, Word),
    Answer(Verdict),
    Again,
}

/// Where a key says its caller may be: disjoint bits for the tag, the first line and the home slot.
struct Caller {
    tag: Tag,
    line: usize,
    home: usize,
}

impl Caller {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a table's index is cut to its size anyway")]
    const fn of(key: Key) -> Self {
        let bits = key.fingerprint();
        Self { tag: Tag::of(bits), line: (bits as usize) / WAYS, home: bits as usize % WAYS }
    }

    #[inline]
    fn first_line<'t>(&self, lines: &'t [Line]) -> &'t Line {
        &lines[self.line & (lines.len() - 1)]
    }

    /// The second line's distance from the first depends on the tag alone and is never 0, so that callers with
    /// one tag and swapped lines have the same candidates.
    fn candidates<'t>(&self, lines: &'t [Line]) -> Candidates<'t> {
        let mask = lines.len() - 1;
        let first = self.line & mask;
        let mixed = ((self.tag.bits().wrapping_mul(GOLDEN) >> 32) * mask as u64) >> 32;
        let second = first ^ (mixed as usize + 1) & mask;
        Candidates::new((first, &lines[first]), (second, &lines[second]), self.home, self.tag)
    }
}

/// 2⁶⁴ / φ, which spreads consecutive numbers (Knuth, TAOCP 3, §6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
