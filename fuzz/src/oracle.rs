//! A map of callers beside a table of one thread.
//!
//! What the map knows of a caller is the set of states in which its word may be: more than one where a word is over,
//! since strangers may then have taken its slot. Where the table overflows under `Inherit` or `Forget` it depends on
//! slots who is displaced; then only what holds for everybody is checked.

use std::collections::HashMap;

use tollgate::{Basis, BoxedLimiter, Key, Keyer, Nanos, Overflow, Presented, Reason, Receipt, Verdict};

use crate::input::QuotaInput;
use crate::model::{Answer, EVER, Model, State};

/// The states in which a caller's word may be, `None` for no word. Nothing is known if the set is missing.
type Known = Option<Vec<Option<State>>>;

struct Caller {
    known: Known,
    /// The first time at which it can pass again, as it was told.
    throttled_until: Nanos,
}

struct Charged {
    caller: u8,
    at: Nanos,
    receipt: Receipt,
    states: Known,
}

/// What is known of a table, and the operations on it with their answers checked.
pub struct Oracle {
    model: Model,
    overflow: Overflow,
    callers: HashMap<u8, Caller>,
    charges: Vec<Charged>,
}

impl Oracle {
    pub fn new(quota: &QuotaInput, overflow: Overflow) -> Self {
        Self { model: Model::new(quota), overflow, callers: HashMap::new(), charges: Vec::new() }
    }

    /// What callers were told to wait no longer holds.
    pub fn clock_fell_back(&mut self) {
        self.callers.values_mut().for_each(|caller| caller.throttled_until = Nanos::ZERO);
    }

    fn caller(&mut self, caller: u8) -> &mut Caller {
        self.callers.entry(caller).or_insert(Caller { known: Some(vec![None]), throttled_until: Nanos::ZERO })
    }

    /// Strangers may use a word that is over, and so may a sweep have cleared it.
    pub fn forget_the_idle(&mut self, now: Nanos) {
        for known in self.callers.values_mut().filter_map(|caller| caller.known.as_mut()) {
            let over = known.iter().flatten().any(|&state| self.model.is_over(state, now));
            if over && !known.contains(&None) {
                known.push(None);
            }
        }
    }

    /// A sweep brings words that lie ahead to now; a newcomer that finds no room does in its own lines.
    pub fn settle_all(&mut self, now: Nanos, perhaps: bool) {
        for known in self.callers.values_mut().filter_map(|caller| caller.known.as_mut()) {
            let before = known.clone();
            known.iter_mut().flatten().for_each(|state| *state = self.model.settle(*state, now));
            if perhaps {
                before.into_iter().for_each(|state| {
                    if !known.contains(&state) {
                        known.push(state);
                    }
                });
            }
        }
    }

    pub fn check(&mut self, limiter: &BoxedLimiter, id: u8, now: Nanos, cost: u32) {
        let (model, overflow) = (self.model, self.overflow);
        let verdict = limiter.check_n(key(id), Presented::Absent, now, cost);
        let caller = self.caller(id);
        if cost == 0 || cost > limiter.limit() {
            match verdict {
                Verdict::Admitted(_) => assert_eq!(cost, 0),
                Verdict::Refused(refusal) => {
                    assert_eq!((refusal.reason, refusal.retry_after), (Reason::CostAboveLimit, Nanos::MAX));
                }
                Verdict::Exempt(_) => panic!("nobody is exempt here"),
            }
            return;
        }
        assert!(
            !(verdict.passes() && now < caller.throttled_until),
            "{id} passes before it was told to: {verdict:?}"
        );
        let homeless = caller.known.as_ref().is_none_or(|known| known.contains(&None));
        let answer = match verdict {
            Verdict::Exempt(_) => panic!("nobody is exempt here"),
            Verdict::Admitted(standing) => {
                assert!(standing.remaining <= limiter.limit() - cost);
                if standing.basis != Basis::Own {
                    assert!(homeless, "{id} has a word and yet {verdict:?}");
                    self.overflowed(id, standing.basis);
                    return;
                }
                Answer::Admitted { remaining: standing.remaining, resets_in: standing.resets_in.0.min(EVER) }
            }
            Verdict::Refused(refusal) => {
                assert!(refusal.retry_after > Nanos::ZERO);
                // Who finds no room is refused, and under GCRA so may be who takes over a debt.
                if refusal.reason == Reason::Overflow {
                    assert!(homeless, "{id} has a word and yet {verdict:?}");
                    assert_ne!(overflow, Overflow::Admit);
                    caller.known = caller.known.as_ref().map(|_| vec![None]);
                    self.settle_all(now, true);
                    return;
                }
                assert_eq!(refusal.reason, Reason::OverLimit);
                if cost == 1 && overflow != Overflow::Forget {
                    caller.throttled_until = now.saturating_add(refusal.retry_after);
                }
                Answer::Refused { retry_after: refusal.retry_after.0.min(EVER) }
            }
        };
        let states = caller.known.as_ref().map(|known| {
            let mut after = Vec::new();
            for from in known {
                let fresh = [model.fresh(now), model.fresh_late(now)];
                for &state in from.as_ref().map_or(&fresh[..], core::slice::from_ref) {
                    let (expected, state) = model.check(state, now, cost);
                    if expected == answer && !after.contains(&Some(state)) {
                        after.push(Some(state));
                    }
                }
            }
            assert!(
                !after.is_empty(),
                "{id} at {now:?}, cost {cost}: {verdict:?}, known {known:?} under {model:?}"
            );
            after
        });
        caller.known.clone_from(&states);
        if let Verdict::Admitted(standing) = verdict {
            self.charges.push(Charged { caller: id, at: now, receipt: standing.receipt, states });
        }
    }

    /// A newcomer found no room and passed all the same.
    fn overflowed(&mut self, newcomer: u8, basis: Basis) {
        match (self.overflow, basis) {
            (Overflow::Admit, Basis::Uncounted) => {
                let caller = self.caller(newcomer);
                caller.known = caller.known.as_ref().map(|_| vec![None]);
            }
            (Overflow::Inherit, Basis::Inherited) | (Overflow::Forget, Basis::TookOver) => {
                self.callers.values_mut().for_each(|caller| caller.known = None);
            }
            wrong => panic!("{wrong:?}"),
        }
    }

    pub fn peek(&mut self, limiter: &BoxedLimiter, id: u8, now: Nanos) {
        let standing = limiter.peek(key(id), now);
        assert_eq!(standing, limiter.peek(key(id), now), "a look changes nothing");
        let model = self.model;
        if let Some(known) = &self.caller(id).known {
            let of = |state: &Option<State>| match model.check(state.unwrap_or(model.fresh(now)), now, 0).0 {
                Answer::Admitted { remaining, .. } => remaining,
                Answer::Refused { .. } => 0,
            };
            assert!(
                known.iter().any(|state| of(state) == standing.remaining),
                "{standing:?}, known {known:?}"
            );
        }
    }

    pub fn refund(&mut self, limiter: &BoxedLimiter, which: u8, now: Nanos) {
        // Receipts hold times on the ring too, and no sweep reaches them.
        self.charges.retain(|charged| charged.at.0.abs_diff(now.0) <= limiter.sweep_interval().0);
        if self.charges.is_empty() {
            return;
        }
        let Charged { caller: id, receipt, states, .. } =
            self.charges.swap_remove(usize::from(which) % self.charges.len());
        let given = limiter.refund(receipt, now);
        let model = self.model;
        let caller = self.caller(id);
        if given {
            caller.throttled_until = Nanos::ZERO;
        }
        let (Some(known), Some(charged)) = (&caller.known, states) else {
            caller.known = None;
            return;
        };
        let mut after = Vec::new();
        for from in known {
            for &charged in charged.iter().flatten() {
                let refunded = from.and_then(|state| model.refund(state, charged, now, receipt.cost()));
                let state = refunded.or(*from);
                if refunded.is_some() == given && !after.contains(&state) {
                    after.push(state);
                }
            }
        }
        assert!(
            !after.is_empty(),
            "refund {given} for {charged:?} at {now:?}, known {known:?} under {model:?}"
        );
        caller.known = Some(after);
    }

    pub fn clear(&mut self, limiter: &BoxedLimiter, id: u8, now: Nanos) {
        limiter.clear(key(id), now);
        assert_eq!(
            limiter.peek(key(id), now).remaining,
            limiter.limit(),
            "cleared, yet not everything remains"
        );
        // What was charged before has been given back.
        self.charges.retain(|charged| charged.caller != id);
        let model = self.model;
        let caller = self.caller(id);
        caller.throttled_until = Nanos::ZERO;
        for state in caller.known.iter_mut().flatten().flatten() {
            *state = model.cleared(*state, now);
        }
    }
}

/// The key of one of the callers.
pub fn key(caller: u8) -> Key {
    KEYER.bytes(&[caller])
}

const KEYER: Keyer = Keyer::new(*b"a seed for tests");
