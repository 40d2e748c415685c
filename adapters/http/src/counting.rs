//! By whom a request is counted, and what that comes to.

use std::iter;
use std::sync::Arc;

use tollgate::{
    AllVerdict, BoxedInFlight, Key, Limit, Origin, Presented, Reason, Receipt, Refusal, Verdict, check_list,
};

use crate::decision::{By, Outcome, Parts, Standings};
use crate::gate::Gate;
use crate::pending::Asked;
use crate::policy::MOST_POLICIES;
use crate::shared::{SharedBudgets, SharedVerdict};
use crate::terms::Plan;
use crate::tier::Tier;

/// Whom a request is counted by.
pub(crate) struct Keys {
    /// In all scopes: for penalties and requests under way.
    pub(crate) caller: Key,
    /// By the first policy.
    first: Key,
    /// By those beside it.
    further: heapless::Vec<Key, { MOST_POLICIES - 1 }>,
}

impl Keys {
    fn iter(&self) -> impl Iterator<Item = Key> {
        iter::once(self.first).chain(self.further.iter().copied())
    }
}

/// What is known of a request that was counted. Either has what counts it as under way, if it is.
pub(crate) enum Counted<'g> {
    /// The decision says what becomes of it.
    Known(Option<Box<Receipt>>),
    /// The store has to be asked.
    Unknown(&'g Arc<dyn SharedBudgets>, Option<Box<Receipt>>),
}

impl Gate {
    /// Whose budgets a request uses; `None` if that can't be told.
    #[inline]
    pub(crate) fn keys(&self, origin: Option<&Origin>, plan: &Plan) -> Option<Keys> {
        let key = |tier: &Tier| tier.key(&self.keyer, origin, plan.caller);
        // Those of classes are the same.
        let caller = key(&self.tiers.first)?;
        let first = plan.scope.map_or(caller, |scope| {
            self.keyer.parts(&[&scope.fingerprint().to_le_bytes(), &caller.fingerprint().to_le_bytes()])
        });
        let mut further = heapless::Vec::new();
        for tier in &self.tiers.further {
            // There is room for each policy.
            further.push(key(tier)?).ok()?;
        }
        Some(Keys { caller, first, further })
    }

    /// Counts a request, and writes into the decision what becomes of it, if that is known.
    #[inline]
    pub(crate) fn count(
        &self,
        decision: &mut Parts,
        keys: &Keys,
        presented: Presented,
        cost: u32,
        in_flight: Option<&BoxedInFlight>,
    ) -> Counted<'_> {
        let now = decision.now;
        self.tiers.chosen(decision.class).for_each(|tier| tier.see_to_it(now));
        if let Some(penalty) = &self.penalty {
            drop(penalty.see_to_it(now));
            if let Some(out) = penalty.limiter().out(keys.caller, now) {
                decision.outcome = self.out(decision, out);
                return Counted::Known(None);
            }
        }
        let entered = match in_flight.map(|in_flight| in_flight.enter(keys.caller, presented, now)) {
            Some(Verdict::Refused(refusal)) => {
                decision.outcome = Outcome::Refused { by: By::InFlight, refusal, remaining: 0 };
                return Counted::Known(None);
            }
            Some(Verdict::Admitted(standing)) => Some(standing.receipt),
            Some(Verdict::Exempt(_)) | None => None,
        };
        decision.outcome = match &self.shared {
            None => self.charge(decision, keys, presented, cost),
            Some(shared) => match shared.try_check(&self.asked(decision.class, keys), cost, now) {
                Some(verdict) => self.heard(verdict),
                None => return Counted::Unknown(shared, entered.map(Box::new)),
            },
        };
        if matches!(decision.outcome, Outcome::Refused { .. }) {
            self.punish(decision, keys);
            if let Some(receipt) = entered {
                self.leave(receipt);
            }
            return Counted::Known(None);
        }
        Counted::Known(entered.map(Box::new))
    }

    /// A request is no longer under way.
    #[inline(never)]
    pub(crate) fn leave(&self, receipt: Receipt) {
        if let Some(in_flight) = &self.in_flight {
            in_flight.release(receipt);
        }
    }

    #[inline]
    fn charge(&self, decision: &Parts, keys: &Keys, presented: Presented, cost: u32) -> Outcome {
        let now = decision.now;
        if self.tiers.further.is_empty() {
            match self.tiers.first(decision.class).check(keys.first, presented, now, cost) {
                Verdict::Exempt(service) => Outcome::Exempt(service),
                Verdict::Admitted(standing) => Outcome::Admitted(Standings::One([standing])),
                Verdict::Refused(refusal) => self.refused(decision, keys, 0, refusal, cost),
            }
        } else {
            let limits = self.tiers.chosen(decision.class).zip(keys.iter());
            let limits = limits.filter_map(|(tier, key)| Some((tier.limit()?, key)));
            let limits: heapless::Vec<(&dyn Limit, Key), MOST_POLICIES> = limits.collect();
            match check_list(&limits, presented, now, cost) {
                AllVerdict::Exempt(service) => Outcome::Exempt(service),
                AllVerdict::Admitted(standings) => {
                    Outcome::Admitted(Standings::Several(Box::from(&standings[..])))
                }
                AllVerdict::Refused { by, refusal } => self.refused(decision, keys, by, refusal, cost),
            }
        }
    }

    /// Puts a caller out who was refused too often. Nobody is out for what others have used up, nor for a store that can't be
    /// reached.
    pub(crate) fn punish(&self, decision: &mut Parts, keys: &Keys) {
        if let (Outcome::Refused { by: By::Policy(by), refusal, .. }, Some(penalty)) =
            (&decision.outcome, &self.penalty)
            && refusal.reason == Reason::OverLimit
            && self.tiers.chosen(decision.class).nth(*by).is_some_and(Tier::is_of_callers)
            && let Some(out) = penalty.limiter().strike(keys.caller, decision.now)
        {
            decision.outcome = self.out(decision, out);
        }
    }

    /// What a store is asked about a request.
    pub(crate) fn asked(&self, class: Option<u8>, keys: &Keys) -> Asked {
        self.tiers.numbers(class).zip(keys.iter()).collect()
    }

    fn refused(&self, decision: &Parts, keys: &Keys, by: usize, refusal: Refusal, cost: u32) -> Outcome {
        let mut policies = self.tiers.chosen(decision.class).zip(keys.iter());
        let remaining = match policies.nth(by) {
            Some((tier, key)) if cost > 1 => tier.remaining(key, decision.now),
            _ => 0,
        };
        Outcome::Refused { by: By::Policy(by), refusal, remaining }
    }

    /// The refusal of a caller that is out, in terms of its own limit.
    fn out(&self, decision: &Parts, mut out: Refusal) -> Outcome {
        out.limit = self.tiers.first(decision.class).most();
        Outcome::Refused { by: By::Policy(0), refusal: out, remaining: 0 }
    }

    /// What a store's verdict comes to. A policy that there isn't is taken for the last.
    pub(crate) fn heard(&self, verdict: SharedVerdict) -> Outcome {
        match verdict {
            AllVerdict::Exempt(service) => Outcome::Exempt(service),
            AllVerdict::Admitted(standings) => Outcome::Admitted(match &standings[..] {
                [only] => Standings::One([*only]),
                several => Standings::Several(Box::from(several)),
            }),
            AllVerdict::Refused { by, refusal } => {
                let by = By::Policy(by.min(self.tiers.further.len()));
                // What remains the store does not say.
                Outcome::Refused { by, refusal, remaining: 0 }
            }
        }
    }
}
