//! Explicit-state model of the table protocol (docs/DESIGN.md): every interleaving, one shared access per step,
//! sequentially consistent, fixed window. A violation here is a violation on any machine; the fence argument is loom's business.
//! A change of the table's rules begins here.
//!
//! `cargo run --release` explores each scenario twice: with rule 6 (no claim word recurs) and without it. Then it shows why a
//! charge keeps a start that lies a little ahead of the clock, instead of writing the clock's time over it.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

const SLOTS: usize = 4;

/// One slot's word. `tag` 0 with a time is a residue; all zero is empty.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Word { tag: u8, claim: bool, start: u8, count: u8 }
const EMPTY: Word = Word { tag: 0, claim: false, start: 0, count: 0 };
const fn committed(tag: u8, start: u8, count: u8) -> Word { Word { tag, claim: false, start, count } }

#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow { Inherit, Forget }

#[derive(Clone, Copy)]
struct Rules { slots: usize, limit: u8, window: u8, overflow: Overflow, rule6: bool, lead: u8, requests: u8, refund: bool }

/// What a thread does next; each step makes at most one access to a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step { Scan(usize), Claim(usize), Look(usize, usize), WithdrawOwn(usize), WithdrawOther(usize, usize), Commit(usize), Charge(usize), Settle(usize), Refund(usize), Done }

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Thread { key: u8, now: u8, left: u8, admitted: u8, step: Step, expected: Word, next: Word, seen: [Word; SLOTS] }

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State { slots: [Word; SLOTS], threads: Vec<Thread>, to_clear: Option<Word> }

impl Rules {
    fn expired(&self, w: Word, now: u8) -> bool { now >= w.start && now - w.start >= self.window }
    fn free(&self, w: Word, now: u8) -> bool { w == EMPTY || (w.tag == 0 && w.count == 0) || self.expired(w, now) }
    /// A start ahead of `now` by more than the lead that is kept counts as now.
    fn settled(&self, w: Word, now: u8) -> Word {
        if w.start > now && w.start - now > self.lead { Word { start: now, ..w } } else { w }
    }
    /// The quota arithmetic.
    fn charged(&self, w: Word, now: u8) -> Option<Word> {
        let w = self.settled(w, now);
        let (start, count) = if self.expired(w, now) { (now, 0) } else { (w.start, w.count) };
        (count < self.limit).then_some(committed(w.tag, start, count + 1))
    }
    fn withdrawn(&self, w: Word) -> Word {
        if self.rule6 || w.count > 0 { Word { tag: 0, claim: false, ..w } } else { EMPTY }
    }
    /// The slot to claim and the claim, `None` when the answer is a refusal.
    fn claim(&self, t: &Thread) -> Option<(usize, Word)> {
        let free = (0..self.slots).find(|&i| self.free(t.seen[i], t.now));
        let slot = free.or_else(|| (0..self.slots).filter(|&i| !t.seen[i].claim).min_by_key(|&i| t.seen[i].count))?;
        let old = t.seen[slot];
        let inherits = free.is_none() && self.overflow == Overflow::Inherit;
        let (mut start, count) = if inherits { (old.start, old.count) } else { (t.now, 0) };
        if self.rule6 && old != EMPTY && (old.tag == 0 || !inherits) { start = start.max(old.start + 1); }
        (count < self.limit).then_some((slot, Word { tag: t.key, claim: true, start, count }))
    }
}

impl Thread {
    fn restart(&mut self) { (self.expected, self.next, self.seen, self.step) = (EMPTY, EMPTY, [EMPTY; SLOTS], Step::Scan(0)); }
    fn request_over(&mut self) { self.left -= 1; self.restart(); if self.left == 0 { self.step = Step::Done; } }
    fn answer(&mut self, admitted: bool, rules: &Rules) {
        if !admitted { return self.request_over(); }
        self.admitted += 1;
        if rules.refund { let charge = self.next; self.restart(); self.next = charge; self.step = Step::Refund(0); } else { self.request_over(); }
    }
}

/// Advances one thread by one step; `None` when it has finished.
fn advance(rules: &Rules, state: &State, who: usize) -> Option<State> {
    let mut state = state.clone();
    let mut t = state.threads[who];
    let swap = |slot: &mut Word, from: Word, to: Word| { let won = *slot == from; if won { *slot = to; } won };
    match t.step {
        Step::Done => return None,
        Step::Scan(i) => {
            let w = state.slots[i];
            t.seen[i] = w;
            if w.tag == t.key {
                t.seen = [EMPTY; SLOTS];
                t.expected = w;
                if w.claim { t.step = Step::Look(i, 0); }
                else { match rules.charged(w, t.now) {
                    Some(next) => { t.next = next; t.step = Step::Charge(i); }
                    // A refusal writes nothing but a start that lay ahead of the clock.
                    None if rules.settled(w, t.now) != w => { t.next = rules.settled(w, t.now); t.step = Step::Settle(i); }
                    None => t.answer(false, rules),
                } }
            } else if i + 1 < rules.slots { t.step = Step::Scan(i + 1); }
            else { match rules.claim(&t) {
                Some((slot, claim)) => { t.expected = t.seen[slot]; t.next = claim; t.seen = [EMPTY; SLOTS]; t.step = Step::Claim(slot); }
                None => t.answer(false, rules), // at the limit, or all candidates are claims: Contended
            } }
        }
        Step::Claim(i) => if swap(&mut state.slots[i], t.expected, t.next) { t.expected = t.next; t.next = EMPTY; t.step = Step::Look(i, 0); } else { t.restart(); },
        Step::Look(i, j) if j == rules.slots => match rules.charged(t.expected, t.now) {
            Some(next) => { t.next = next; t.step = Step::Commit(i); }
            None => t.answer(false, rules),
        },
        Step::Look(i, j) => {
            let w = state.slots[j];
            t.step = if j == i || w.tag != t.key { Step::Look(i, j + 1) }
                else if !w.claim || j < i { Step::WithdrawOwn(i) }
                else { t.next = w; Step::WithdrawOther(i, j) };
        }
        Step::WithdrawOwn(i) => { swap(&mut state.slots[i], t.expected, rules.withdrawn(t.expected)); t.restart(); }
        Step::WithdrawOther(i, j) => { let won = swap(&mut state.slots[j], t.next, rules.withdrawn(t.next)); t.next = EMPTY; t.step = Step::Look(i, if won { j + 1 } else { 0 }); }
        Step::Commit(i) | Step::Charge(i) => if swap(&mut state.slots[i], t.expected, t.next) { t.answer(true, rules); } else { t.restart(); },
        Step::Settle(i) => { swap(&mut state.slots[i], t.expected, t.next); t.answer(false, rules); }
        Step::Refund(i) if i == rules.slots => t.request_over(),
        Step::Refund(i) => {
            let w = &mut state.slots[i];
            if w.tag == t.key && !w.claim && w.start == t.next.start && w.count > 0 { w.count -= 1; t.admitted -= 1; t.request_over(); } else { t.step = Step::Refund(i + 1); }
        }
    }
    state.threads[who] = t;
    Some(state)
}

fn digest(value: &impl Hash) -> u128 {
    let half = |salt: u64| { let mut h = DefaultHasher::new(); salt.hash(&mut h); value.hash(&mut h); u128::from(h.finish()) };
    half(1) << 64 | half(2)
}

/// Threads are (key, clock reading). Key 1 is the caller under watch; keys 2 and 3 disturb it.
fn explore(name: &str, rules: Rules, slots: &[Word], threads: &[(u8, u8)], to_clear: Option<Word>) -> bool {
    let mut first = State { slots: [EMPTY; SLOTS], to_clear, threads: threads.iter().map(|&(key, now)| Thread {
        key, now, left: rules.requests, admitted: 0, step: Step::Scan(0), expected: EMPTY, next: EMPTY, seen: [EMPTY; SLOTS] }).collect() };
    first.slots[..slots.len()].copy_from_slice(slots);
    let (mut known, mut todo) = (HashSet::new(), vec![first]);
    while let Some(state) = todo.pop() {
        if !known.insert(digest(&state)) { continue; }
        let admitted: u8 = state.threads.iter().filter(|t| t.key == 1).map(|t| t.admitted).sum();
        let twice = (1..=3).any(|key| state.slots.iter().filter(|w| w.tag == key && !w.claim).count() > 1);
        // Who is displaced under Forget starts afresh, so only its words are counted there.
        if twice || (admitted > rules.limit && rules.overflow == Overflow::Inherit) {
            println!("{name:58} {} after {} states: {:?}", if twice { "TWO WORDS" } else { "OVER-ADMITTED" }, known.len(), &state.slots[..rules.slots]);
            return false;
        }
        todo.extend((0..state.threads.len()).filter_map(|who| advance(&rules, &state, who)).map(|mut s| { s.threads.sort_by_cached_key(digest); s }));
        if state.to_clear.is_some() {
            let mut cleared = State { to_clear: None, ..state.clone() };
            if Some(cleared.slots[0]) == state.to_clear { cleared.slots[0] = EMPTY; }
            todo.push(cleared);
        }
    }
    println!("{name:58} holds, {} states", known.len());
    true
}

fn main() {
    let mut sound = true;
    for rule6 in [false, true] {
        println!("== {}", if rule6 { "the rules of design.md" } else { "without rule 6: must be caught" });
        let base = Rules { slots: 2, limit: 1, window: 3, overflow: Overflow::Inherit, rule6, lead: u8::MAX, requests: 1, refund: false };
        let (b, c2) = (committed(4, 1, 1), committed(5, 1, 2));
        let held = [
            explore("3 threads, a slot is cleared meanwhile, limit 1", base, &[b], &[(1, 1); 3], Some(b)),
            explore("4 threads, a slot is cleared meanwhile, limit 2", Rules { limit: 2, ..base }, &[b], &[(1, 1); 4], Some(b)),
            explore("3 threads, 2 requests each, slot cleared, limit 3", Rules { limit: 3, requests: 2, ..base }, &[b], &[(1, 1); 3], Some(b)),
            explore("4 threads on 3 slots, slot cleared, limit 2", Rules { slots: 3, limit: 2, ..base }, &[b], &[(1, 1); 4], Some(b)),
            explore("4 threads, a window ends between clock readings", Rules { limit: 3, ..base }, &[b], &[(1, 3), (1, 4), (1, 3), (1, 4)], None),
            explore("4 threads on 3 slots, two windows end", Rules { slots: 3, limit: 3, ..base }, &[b, committed(5, 2, 1)], &[(1, 3), (1, 4), (1, 3), (1, 5)], None),
            explore("full, Inherit, a stranger too, limit 4", Rules { limit: 4, ..base }, &[b, c2], &[(1, 1), (1, 1), (1, 1), (2, 1)], None),
            explore("full, Inherit, 3 slots, two strangers, limit 4", Rules { slots: 3, limit: 4, ..base }, &[b, c2, c2], &[(1, 1), (1, 1), (1, 1), (2, 1), (3, 1)], None),
            explore("full, Forget, a stranger too, limit 4", Rules { limit: 4, overflow: Overflow::Forget, ..base }, &[b, c2], &[(1, 1), (1, 1), (2, 1)], None),
            explore("slot cleared, every admission refunded, limit 2", Rules { limit: 2, refund: true, ..base }, &[b], &[(1, 1); 4], Some(b)),
        ];
        sound &= held.iter().all(|&h| h) == rule6;
    }
    println!("== Forget, a full table, and strangers who displace the caller");
    let (b, c2) = (committed(4, 1, 1), committed(5, 1, 2));
    let threads = [(1, 1), (1, 1), (1, 1), (1, 1), (2, 1), (3, 1)];
    // Six threads put a slot's time at most six ticks ahead, and the shipped lead is sixteen ticks or more.
    for (lead, name) in [(0, "a start ahead of the clock is written back: must be caught"), (6, "a start a little ahead of the clock is kept")] {
        let rules = Rules { slots: 2, limit: 4, window: 9, overflow: Overflow::Forget, rule6: true, lead, requests: 1, refund: false };
        sound &= explore(name, rules, &[b, c2], &threads, None) == (lead > 0);
    }
    // A clock that fell back: words far ahead are written back, also by refusals.
    let far = Rules { slots: 2, limit: 1, window: 3, overflow: Overflow::Inherit, rule6: true, lead: 2, requests: 1, refund: false };
    sound &= explore("the clock fell back, limit 1, Inherit", far, &[committed(1, 9, 1), committed(4, 9, 1)], &[(1, 1), (1, 1), (2, 1), (1, 2)], None);
    let far = Rules { limit: 3, ..far };
    sound &= explore("the clock fell back, limit 3, Inherit", far, &[committed(4, 9, 1), committed(5, 9, 2)], &[(1, 1), (1, 1), (2, 1), (1, 2)], None);
    println!("{}", if sound { "as expected" } else { "NOT as expected" });
    std::process::exit(i32::from(!sound));
}
