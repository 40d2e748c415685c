//! The lines, a caller's two candidate lines, and what happens when they are full.

use core::hint::black_box;

use crate::counters::{Count, Counters};
use crate::flaw;
use crate::key::Key;
use crate::line::{Candidates, PLACES, Place, Resolution, Slot, WAYS};
use crate::quota::{Arithmetic, Charge, Moment, MoreIn, Visit};
use crate::sync::{HOME_FIRST, Tally, TallyOrdering};
use crate::time::Nanos;
use crate::verdict::{Basis, Reason, Receipt, Refusal, Standing, Verdict};
use crate::word::Word;

mod caller;
mod home;
mod overflow;
pub(crate) mod storage;

use caller::Caller;
use home::Check;
pub use overflow::Overflow;
use storage::Lines;

/// Lines of words under one rule.
pub(crate) struct Table<S, R> {
    storage: S,
    /// The rule as it was built; its dial is below.
    rule: R,
    /// The figures of the rule that may change, in one number that is read once a decision.
    dial: Tally,
    pub(crate) overflow: Overflow,
    pub(crate) counters: Counters,
}

/// A newcomer goes to its first line while this many of its words are free, so while fewer than six restrain
/// somebody; else to the emptier of its two lines.
const ROOMY: u32 = 3;
/// What a newcomer is told to wait when all its candidates are claims, which are resolved long before.
const MILLISECOND: Nanos = Nanos::from_millis(1);

impl<S, R> Table<S, R> {
    /// `dial` is the rule's, which can't be asked for here.
    pub(crate) const fn new(storage: S, rule: R, dial: u64, overflow: Overflow) -> Self {
        let dial = Tally::new(dial);
        Self { storage, rule, dial, overflow, counters: Counters::new() }
    }
}

/// One request, wherever its caller's word is or is to be.
struct CheckEverywhere<'t, S, R>(Check<'t, S, R>);

impl<S: Lines, R: Arithmetic> Visit for CheckEverywhere<'_, S, R> {
    type Output = Verdict;

    #[inline]
    fn visit<A: Arithmetic>(self, rule: &A) -> Verdict {
        let Check { table, key, now, cost } = self.0;
        let request = Request { rule: *rule, at: rule.moment(now), key, cost };
        let Some(candidates) = Caller::of(key).candidates(table.storage.lines()) else {
            // A table has at least two lines, so each caller has its own; the compiler need not believe it.
            return table.refused(&request, MILLISECOND, Reason::Contended);
        };
        let mut seen = NOTHING;
        loop {
            let answer = match candidates.find(&mut seen) {
                Some((place, word)) if !word.is_claim() => {
                    table.charge(candidates.slot(place), word, &request)
                }
                Some((place, claim)) => table.resolve(&candidates, place, claim, Basis::Own, &request),
                None => table.insert(&candidates, &seen, &request),
            };
            if let Some(verdict) = answer {
                return verdict;
            }
        }
    }
}

impl<S: Lines, R: Arithmetic> Table<S, R> {
    /// Decides one request of `cost`.
    #[inline]
    pub(crate) fn check_n(&self, key: Key, now: Nanos, cost: u32) -> Verdict {
        if cost == 0 || cost > self.rule().limit() {
            return self.check_oddly(key, now, cost);
        }
        self.check(key, now, cost)
    }

    /// Looks at each caller's home slot, so that it is in the cache when it is decided on. None of the looks waits for
    /// another, where decisions do, since each ends in a swap.
    pub(crate) fn read_ahead(&self, keys: &[Key]) {
        let homes = keys.iter().filter_map(|&key| Caller::of(key).home_slot(&self.storage));
        black_box(homes.fold(0, |bits, home| bits ^ home.load().bits()));
    }

    /// Asks for the rule again, so that nothing of it need be in memory for those who don't come here.
    #[inline(never)]
    fn check_everywhere(&self, key: Key, now: Nanos, cost: u32) -> Verdict {
        let check = CheckEverywhere(Check { table: self, key, now, cost });
        if HOME_FIRST { self.rule().visit(check) } else { check.visit(&self.rule()) }
    }

    /// Charges the caller's own word; `None` if it has changed meanwhile.
    #[expect(clippy::inline_always, reason = "for a call, the request would be written to memory")]
    #[inline(always)]
    fn charge<A: Arithmetic>(&self, slot: Slot<'_>, word: Word, request: &Request<A>) -> Option<Verdict> {
        let charge = request.rule.charge(word.state(), request.at, request.cost);
        match charge {
            Charge::Admitted { state, .. } => {
                if !slot.swap(word, word.with_state(state)) {
                    return None;
                }
            }
            Charge::Refused { state, .. } => {
                if state != word.state() {
                    // The state lay ahead of the clock. If somebody else was faster, it no longer does.
                    slot.swap(word, word.with_state(state));
                }
            }
        }
        Some(self.verdict(request, charge, Basis::Own))
    }

    /// What a request of nothing, or of more than can ever pass, is answered.
    #[cold]
    fn check_oddly(&self, key: Key, now: Nanos, cost: u32) -> Verdict {
        if cost == 0 {
            return Verdict::Admitted(self.peek(key, now));
        }
        self.counters.add(Count::Refused);
        Verdict::Refused(Refusal::new(self.rule().limit(), Nanos::MAX, Reason::CostAboveLimit))
    }

    /// Where a caller stands; nothing is written.
    pub(crate) fn peek(&self, key: Key, now: Nanos) -> Standing {
        let rule = self.rule();
        let at = rule.moment(now);
        let (remaining, resets_in) = match self.search(key) {
            Some(word) => match rule.charge(word.state(), at, 0) {
                Charge::Admitted { remaining, .. } | Charge::Refused { remaining, .. } => {
                    (remaining, rule.over_in(word.state(), at))
                }
            },
            None => (rule.limit(), Nanos::ZERO),
        };
        Standing::new(rule.limit(), remaining, resets_in, Receipt::new(key, 0, 0))
    }

    /// Whether a request of `cost` would pass, or what it would be refused with; nothing is written. A newcomer is
    /// taken to find room.
    pub(crate) fn foresee(&self, key: Key, now: Nanos, cost: u32) -> Result<(), Refusal> {
        let rule = self.rule();
        let at = rule.moment(now);
        if cost == 0 {
            return Ok(());
        }
        if cost > rule.limit() {
            return Err(Refusal::new(rule.limit(), Nanos::MAX, Reason::CostAboveLimit));
        }
        match self.search(key) {
            Some(word) => match rule.charge(word.state(), at, cost) {
                Charge::Admitted { .. } => Ok(()),
                Charge::Refused { retry_after, .. } => {
                    Err(Refusal::new(rule.limit(), retry_after, Reason::OverLimit))
                }
            },
            None => Ok(()),
        }
    }

    /// A caller's state, if it has a word.
    pub(crate) fn state(&self, key: Key) -> Option<u64> {
        self.search(key).map(Word::state)
    }

    /// What a caller was charged, if it was.
    fn search(&self, key: Key) -> Option<Word> {
        let caller = Caller::of(key);
        if HOME_FIRST {
            let home = caller.home_slot(&self.storage)?.load();
            if home.is_committed_by(caller.tag) {
                return Some(home);
            }
        }
        let (_, word) = caller.candidates(self.storage.lines())?.committed()?;
        Some(word)
    }

    /// Gives a charge back, if it still counts; whether it did.
    pub(crate) fn refund(&self, receipt: Receipt, now: Nanos) -> bool {
        let rule = self.rule();
        let at = rule.moment(now);
        self.rewrite(receipt.key(), |state| rule.refund(state, receipt.charged(), receipt.cost(), at))
    }

    /// Gives a caller its whole limit again; whether it had used any.
    pub(crate) fn clear(&self, key: Key, now: Nanos) -> bool {
        let rule = self.rule();
        let at = rule.moment(now);
        self.rewrite(key, |state| Some(rule.cleared(state, at)).filter(|&cleared| cleared != state))
    }

    /// Writes another state over a caller's, if it has one and `change` gives one; whether it did.
    pub(crate) fn rewrite(&self, key: Key, mut change: impl FnMut(u64) -> Option<u64>) -> bool {
        let Some(candidates) = Caller::of(key).candidates(self.storage.lines()) else { return false };
        loop {
            // Nothing of a claim is charged, and one may stand before the charge: whoever made it has not seen that yet. A
            // release that stopped there would be lost, and its caller never get that place again.
            let Some((place, word)) = candidates.committed() else { return false };
            let Some(state) = change(word.state()) else { return false };
            if candidates.slot(place).swap(word, word.with_state(state)) {
                return true;
            }
        }
    }

    /// Clears words whose time is a whole window past, so that a ring of times can't bring them back; how many. Words
    /// that lie ahead of the clock are brought to now.
    ///
    /// Decisions may go on meanwhile.
    pub(crate) fn sweep(&self, now: Nanos) -> usize {
        let rule = self.rule();
        let at = rule.moment(now);
        let over = self.slots().filter(|&slot| {
            let word = slot.load();
            settle(&rule, slot, word, at);
            !word.is_empty() && rule.is_dead(word.state(), at) && slot.swap(word, Word::EMPTY)
        });
        over.count()
    }

    /// How many slots restrain somebody, and how many hold a word that does not.
    pub(crate) fn occupied(&self, now: Nanos) -> (usize, usize) {
        let rule = self.rule();
        let at = rule.moment(now);
        self.slots().map(Slot::load).filter(|word| !word.is_empty()).fold(
            (0, 0),
            |(restraining, idle), word| {
                if is_free(&rule, word, at) { (restraining, idle + 1) } else { (restraining + 1, idle) }
            },
        )
    }

    fn slots(&self) -> impl Iterator<Item = Slot<'_>> {
        self.storage.lines().iter().flat_map(|line| (0..WAYS).map(|way| Slot::of(line, way)))
    }

    /// Holds callers to another rule from now on; `false` if their states would not mean the same under it.
    pub(crate) fn set_rule(&self, rule: &R) -> bool {
        let alike = self.rule.is_like(rule);
        if alike {
            // ORDERING: one number, read once a decision; which decisions see it first does not matter.
            self.dial.store(rule.dial(), TallyOrdering::Relaxed);
        }
        alike
    }

    #[inline]
    pub(crate) fn rule(&self) -> R {
        self.rule.with_dial(self.read_dial())
    }

    #[inline]
    pub(crate) fn more_in(&self, standing: &Standing, now: Nanos) -> Nanos {
        self.rule.visit(MoreIn { standing, now, dial: self.read_dial() })
    }

    #[inline]
    fn read_dial(&self) -> u64 {
        // ORDERING: as in `set_rule`.
        self.dial.load(TallyOrdering::Relaxed)
    }

    pub(crate) fn capacity(&self) -> usize {
        self.storage.lines().len() * WAYS
    }

    /// Puts a newcomer into the table; `None` if somebody was faster.
    #[cold]
    fn insert<A: Arithmetic>(
        &self,
        candidates: &Candidates<'_>,
        seen: &[Word; PLACES],
        request: &Request<A>,
    ) -> Option<Verdict> {
        let (place, state, basis) = match self.choose(candidates, seen, request) {
            Ok(choice) => choice,
            Err(verdict) => return Some(verdict),
        };
        let (slot, old, tag) = (candidates.slot(place), seen[place % PLACES], candidates.tag());
        if flaw::naive_insert() {
            let charge = request.rule.charge(state, request.at, request.cost);
            let won = match charge {
                Charge::Admitted { state, .. } => slot.swap(old, Word::committed(tag, state)),
                Charge::Refused { .. } => true,
            };
            return won.then(|| self.verdict(request, charge, basis));
        }
        let claim = Word::claim(tag, state);
        if !slot.swap(old, claim) {
            return None;
        }
        match basis {
            Basis::Inherited => self.counters.add(Count::Inherited),
            Basis::TookOver => self.counters.add(Count::TakenOver),
            Basis::Own | Basis::Uncounted | Basis::Leased | Basis::Share => {}
        }
        self.resolve(candidates, place, claim, basis, request)
    }

    /// Brings a claim to an end; `None` if the request has no answer yet.
    fn resolve<A: Arithmetic>(
        &self,
        candidates: &Candidates<'_>,
        place: Place,
        claim: Word,
        basis: Basis,
        request: &Request<A>,
    ) -> Option<Verdict> {
        let withdrawn = || self.counters.add(Count::Withdrawn);
        match candidates.resolve(place, claim, &request.rule, request.at, request.cost, withdrawn) {
            Resolution::Settled(charge) => Some(self.verdict(request, charge, basis)),
            Resolution::Again => None,
        }
    }

    /// Where a newcomer goes, with which state and on whose count; or the answer if there is no place for it.
    fn choose<A: Arithmetic>(
        &self,
        candidates: &Candidates<'_>,
        seen: &[Word; PLACES],
        request: &Request<A>,
    ) -> Result<(Place, u64, Basis), Verdict> {
        let &Request { rule, at, .. } = request;
        let free = seen.iter().rev().fold(0_u32, |set, &word| set << 1 | u32::from(is_free(&rule, word, at)));
        let free = |which: usize| free >> candidates.start(which) & ((1 << WAYS) - 1);
        let crowded = free(0).count_ones() < ROOMY;
        let which = usize::from(crowded && free(1).count_ones() > free(0).count_ones());
        // The home slot if it is free, else the next one that is.
        let mut ways = (0..WAYS).map(|step| (candidates.home() + step) % WAYS);
        let Some(way) = ways.find(|way| free(which) >> way & 1 == 1) else {
            return self.overflowed(candidates, seen, request);
        };
        let place = candidates.start(which) + way;
        let old = seen[place % PLACES];
        let before = (!old.is_empty() && !flaw::no_rule_6()).then_some(old.state());
        Ok((place, rule.fresh(before, at), Basis::Own))
    }

    #[cold]
    fn overflowed<A: Arithmetic>(
        &self,
        candidates: &Candidates<'_>,
        seen: &[Word; PLACES],
        request: &Request<A>,
    ) -> Result<(Place, u64, Basis), Verdict> {
        let &Request { rule, at, key, cost } = request;
        let victim = least_charged(&rule, seen, at);
        // Before a newcomer is told to wait, words that lie ahead of the clock are brought to now.
        let wait = || {
            let waits = seen.iter().enumerate().map(|(place, &word)| {
                settle(&rule, candidates.slot(place), word, at);
                rule.over_in(word.state(), at)
            });
            waits.min().unwrap_or(rule.window()).max(rule.shortest_wait())
        };
        match (self.overflow, victim) {
            (Overflow::Admit, _) => {
                self.counters.add(Count::Uncounted);
                let remaining = rule.limit().saturating_sub(cost);
                let receipt = Receipt::new(key, 0, 0);
                let standing = Standing::new(rule.limit(), remaining, rule.window(), receipt);
                Err(Verdict::Admitted(Standing { basis: Basis::Uncounted, ..standing }))
            }
            (_, None) => {
                self.counters.add(Count::Contended);
                Err(self.refused(request, wait().min(MILLISECOND), Reason::Contended))
            }
            // With GCRA it starts with the debt; a claim that can't be committed would block the slot for a window.
            (Overflow::Forget, Some((place, word)))
                if matches!(
                    rule.charge(rule.fresh(Some(word.state()), at), at, cost),
                    Charge::Admitted { .. }
                ) =>
            {
                let before = (!flaw::no_rule_6()).then_some(word.state());
                Ok((place, rule.fresh(before, at), Basis::TookOver))
            }
            (Overflow::Inherit, Some((place, word)))
                if matches!(rule.charge(word.state(), at, cost), Charge::Admitted { .. }) =>
            {
                let advance = word.is_residue() && !flaw::no_rule_6();
                let state = if advance { rule.advanced(word.state()) } else { word.state() };
                Ok((place, state, Basis::Inherited))
            }
            (Overflow::Forget | Overflow::Inherit | Overflow::Refuse, Some(_)) => {
                self.counters.add(Count::RefusedByOverflow);
                Err(self.refused(request, wait(), Reason::Overflow))
            }
        }
    }

    #[expect(clippy::inline_always, reason = "for a call, the request would be written to memory")]
    #[inline(always)]
    fn verdict<A: Arithmetic>(&self, request: &Request<A>, charge: Charge, basis: Basis) -> Verdict {
        match charge {
            Charge::Admitted { state, remaining, resets_in } => {
                let receipt = Receipt::new(request.key, state, request.cost);
                let standing = Standing::new(request.rule.limit(), remaining, resets_in, receipt);
                Verdict::Admitted(Standing { basis, ..standing })
            }
            Charge::Refused { retry_after, .. } => self.refused(request, retry_after, Reason::OverLimit),
        }
    }

    #[inline]
    fn refused<A: Arithmetic>(&self, request: &Request<A>, retry_after: Nanos, reason: Reason) -> Verdict {
        self.counters.add(Count::Refused);
        Verdict::Refused(Refusal::new(request.rule.limit(), retry_after, reason))
    }
}

/// Brings a word that lies ahead of the clock to now: its owner would, but may never come back. A claim is withdrawn,
/// since its time can't be changed; whoever wanted to commit it starts again.
fn settle(rule: &impl Arithmetic, slot: Slot<'_>, word: Word, at: Moment) {
    let state = rule.settled(word.state(), at);
    if state != word.state() && !word.is_empty() {
        slot.swap(word, if word.is_claim() { Word::residue(state) } else { word.with_state(state) });
    }
}

/// Whether any claim may be written over a word.
#[inline]
fn is_free(rule: &impl Arithmetic, word: Word, at: Moment) -> bool {
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
fn least_charged(rule: &impl Arithmetic, seen: &[Word; PLACES], at: Moment) -> Option<(Place, Word)> {
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

/// What one decision is about.
struct Request<R> {
    rule: R,
    at: Moment,
    key: Key,
    cost: u32,
}

/// What has been seen before anything was looked at.
const NOTHING: [Word; PLACES] = [Word::EMPTY; PLACES];

#[cfg(not(tollgate_loom))]
#[cfg(test)]
mod tests;
