use std::sync::Arc;

use tokio::time::timeout;
use tollgate::{AllVerdict, Key, Nanos, Reason, Refusal, Standing, Verdict};

use crate::budget::Budget;
use crate::error::StoreError;
use crate::limiter::SharedLimiter;

/// Several limits of one store that decide together, all or nothing and in one round trip: 10 a second *and* 300 a minute,
/// a caller and its network.
///
/// In a cluster the states of one decision are in one slot, that of the last limit's key: put the widest last (a network
/// after its addresses), and use a limiter in one such combination and not also alone, or it has two budgets.
#[derive(Clone, Debug)]
pub struct SharedLimits<const N: usize>([SharedLimiter; N]);

/// A limit, and the key by which it knows the caller.
pub(crate) type Keyed<'l> = (&'l SharedLimiter, Key);

/// How a request stands with each limit, as far as this node knows.
type Heard<const N: usize> = heapless::Vec<Option<Verdict>, N>;

impl<const N: usize> SharedLimits<N> {
    /// Limits of one store.
    ///
    /// # Errors
    /// If they are of several.
    pub fn new(limits: [SharedLimiter; N]) -> Result<Self, StoreError> {
        let one = limits.windows(2).all(|pair| match pair {
            [a, b] => Arc::ptr_eq(&a.store().0, &b.store().0),
            _ => true,
        });
        if one { Ok(Self(limits)) } else { Err(StoreError::TwoStores) }
    }

    /// Decides one request without waiting, if this node knows every limit's answer.
    #[must_use = "a verdict that nobody reads limits nobody"]
    pub fn try_check(&self, keys: [Key; N], cost: u32, now: Nanos) -> Option<AllVerdict<N>> {
        try_together(&self.keyed(keys), cost, now)
    }

    /// Decides one request, with at most one round trip. The limiters know the caller by a key each, in their order.
    pub async fn check(&self, keys: [Key; N], cost: u32, now: Nanos) -> AllVerdict<N> {
        together(&self.keyed(keys), cost, now).await
    }

    /// Gives back what an admitted request was charged by each limit, in their order; whether any of it still counted.
    pub async fn refund(&self, standings: &[Standing], now: Nanos) -> bool {
        let Some(slot) = standings.last().map(|standing| standing.receipt.key()) else { return false };
        let mut counted = false;
        for (limiter, standing) in self.0.iter().zip(standings) {
            counted |= limiter.refund_in(slot, standing, now).await;
        }
        counted
    }

    /// Gives a caller its whole limit again, with each limit; whether it had used any.
    pub async fn clear(&self, keys: [Key; N], now: Nanos) -> bool {
        let Some(&slot) = keys.last() else { return false };
        let mut cleared = false;
        for (limiter, key) in self.0.iter().zip(keys) {
            cleared |= limiter.clear_in(slot, key, now).await;
        }
        cleared
    }

    fn keyed(&self, keys: [Key; N]) -> heapless::Vec<Keyed<'_>, N> {
        self.0.iter().zip(keys).collect()
    }
}

/// Decides a request by up to `N` limits without waiting, if this node knows every limit's answer.
pub(crate) fn try_together<const N: usize>(
    limits: &[Keyed<'_>],
    cost: u32,
    now: Nanos,
) -> Option<AllVerdict<N>> {
    let heard = known::<N>(limits, cost, now);
    let verdict = whole(&heard);
    if !verdict.as_ref().is_some_and(AllVerdict::passes) {
        undo(limits, &heard, now);
    }
    verdict
}

/// Decides a request by up to `N` limits of one store, with at most one round trip.
pub(crate) async fn together<const N: usize>(limits: &[Keyed<'_>], cost: u32, now: Nanos) -> AllVerdict<N> {
    let mut heard = known::<N>(limits, cost, now);
    if let Some(verdict) = whole(&heard) {
        if !verdict.passes() {
            undo(limits, &heard, now);
        }
        return verdict;
    }
    // What this node can't answer, the store does; what was spent here is given back if it refuses.
    if !ask(limits, cost, now, &mut heard).await {
        for ((limiter, key), heard) in limits.iter().zip(&mut heard) {
            heard.get_or_insert_with(|| limiter.0.without_store(*key, cost, now));
        }
    }
    let verdict = whole(&heard).unwrap_or(AllVerdict::Refused { by: 0, refusal: UNHEARD });
    if !verdict.passes() {
        undo(limits, &heard, now);
    }
    verdict
}

/// A limit that nobody has spoken for lets nothing pass; the scripts always say which has refused.
pub(crate) const UNHEARD: Refusal = Refusal::new(0, Nanos::from_secs(1), Reason::Unreachable);

fn known<const N: usize>(limits: &[Keyed<'_>], cost: u32, now: Nanos) -> Heard<N> {
    let mut refused = false;
    let known = limits.iter().map(|(limiter, key)| {
        // Nothing is spent after a refusal.
        let verdict = if refused { None } else { limiter.try_check(*key, cost, now) };
        refused |= verdict.is_some_and(|verdict| !verdict.passes());
        verdict
    });
    known.collect()
}

/// Asks the store about every limit that has not been heard; whether it answered.
async fn ask(limits: &[Keyed<'_>], cost: u32, now: Nanos, heard: &mut [Option<Verdict>]) -> bool {
    let (Some(&(first, caller)), Some(&(_, slot))) = (limits.first(), limits.last()) else { return true };
    let store = &first.store().0;
    if !store.link.admits(caller) {
        return false;
    }
    let asked: Vec<(&Arc<Budget>, Key, &mut Option<Verdict>)> = limits
        .iter()
        .zip(heard)
        .filter(|(_, heard)| heard.is_none())
        .map(|((limiter, key), heard)| (&limiter.0, *key, heard))
        .collect();
    let questions: Vec<_> =
        asked.iter().map(|(budget, key, _)| budget.question(*key, slot, cost, now)).collect();
    let answer =
        match timeout(store.link.wait, store.link.decide(&questions, true, now, &store.tallies)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => return false,
            Err(_) => {
                store.link.breaker.failed();
                return false;
            }
        };
    store.tallies.asked.add(1);
    for (((budget, key, heard), question), &charge) in asked.into_iter().zip(&questions).zip(&answer.charges)
    {
        budget.settle(key, question.owed, charge.settled, now);
        *heard = if answer.admitted {
            Some(Verdict::Admitted(budget.admitted(key, cost, charge, answer.now, now)))
        } else if charge.charge < cost {
            Some(Verdict::Refused(budget.refused(key, cost, charge.before, answer.now, now)))
        } else {
            // It would have passed, and was not charged for another's sake.
            None
        };
    }
    true
}

/// Gives back what was spent here on a request that does not pass.
fn undo(limits: &[Keyed<'_>], heard: &[Option<Verdict>], now: Nanos) {
    for ((limiter, _), verdict) in limits.iter().zip(heard) {
        let Some(Verdict::Admitted(standing)) = verdict else { continue };
        limiter.refund_here(standing, now);
    }
}

/// The answer, if it is known: a refusal by any, of several the one with the longest wait, or an admission by all.
fn whole<const N: usize>(heard: &[Option<Verdict>]) -> Option<AllVerdict<N>> {
    let refusals = heard.iter().enumerate().filter_map(|(by, verdict)| match verdict {
        Some(Verdict::Refused(refusal)) => Some((by, *refusal)),
        _ => None,
    });
    if let Some((by, refusal)) = refusals.max_by_key(|(_, refusal): &(usize, Refusal)| refusal.retry_after) {
        return Some(AllVerdict::Refused { by, refusal });
    }
    let standings: Option<Vec<Standing>> = heard
        .iter()
        .map(|verdict| match verdict {
            Some(Verdict::Admitted(standing)) => Some(*standing),
            _ => None,
        })
        .collect();
    Some(AllVerdict::Admitted(standings?.into_iter().collect()))
}
