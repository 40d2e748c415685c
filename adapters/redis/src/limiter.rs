use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};
use tollgate::{Basis, Key, Nanos, Quota, Standing, Verdict};

use crate::budget::Budget;
use crate::flights::{Landing, Seat};
use crate::lease::MOST;
use crate::store::Store;

/// Holds each caller to a quota over all nodes of a store. Clones are one limiter.
///
/// Times are nanoseconds of the node's own clock, whatever its zero, and serve to tell how long credit and refusals are
/// good for here; windows are the [store's](crate::TimeSource).
#[derive(Clone)]
pub struct SharedLimiter(pub(crate) Arc<Budget>);

/// How often a request waits for others that ask about its caller, before it asks on its own.
const TURNS: usize = 4;

impl SharedLimiter {
    /// Decides one request without waiting, if this node knows the answer: by credit that it was lent, or because the
    /// store has refused the like a moment ago. `None` means to [`check`](Self::check).
    #[inline]
    #[must_use = "a verdict that nobody reads limits nobody"]
    pub fn try_check(&self, key: Key, cost: u32, now: Nanos) -> Option<Verdict> {
        self.0.known(key, cost, now)
    }

    /// Decides one request, with at most one round trip and no longer than the store's
    /// [wait](crate::StoreBuilder::wait).
    ///
    /// A request of cost 0 passes and tells where the caller stands. Whatever happens to the store, there is an answer:
    /// its basis or reason tells whether it is the store's. A request whose future is dropped may have been charged.
    ///
    /// # Security
    /// The answer is as good as the key: see [`Keyer`](tollgate::Keyer).
    pub async fn check(&self, key: Key, cost: u32, now: Nanos) -> Verdict {
        if let Some(verdict) = self.try_check(key, cost, now) {
            return verdict;
        }
        if !self.0.store.0.link.admits(key) {
            return self.0.without_store(key, cost, now);
        }
        if cost > 0 && self.0.leases_at(now).is_some() {
            self.check_together(key, cost, now).await
        } else {
            self.check_alone(key, cost, now).await
        }
    }

    /// Asks by itself.
    async fn check_alone(&self, key: Key, cost: u32, now: Nanos) -> Verdict {
        let link = &self.0.store.0.link;
        match timeout(link.wait, self.0.ask(key, cost, cost, now)).await {
            Ok(Some(verdict)) => verdict,
            Ok(None) => self.0.without_store(key, cost, now),
            Err(_) => {
                link.breaker.failed();
                self.0.without_store(key, cost, now)
            }
        }
    }

    /// Asks, or waits for another request of the same caller and cost that does.
    async fn check_together(&self, key: Key, cost: u32, now: Nanos) -> Verdict {
        let link = &self.0.store.0.link;
        let deadline = Instant::now() + link.wait;
        for _ in 0..TURNS {
            let mut others = match self.0.flights.board(key, cost) {
                Seat::Leader(landing) => {
                    return self.arrive(key, cost, now, Some(landing), deadline).await;
                }
                Seat::Follower(others) => others,
            };
            // The channel closes when whoever asks has an answer, or has none.
            if timeout_at(deadline, others.changed()).await.is_err() {
                return self.0.without_store(key, cost, now);
            }
            if let Some(verdict) = self.try_check(key, cost, now) {
                return verdict;
            }
            if !link.admits(key) {
                return self.0.without_store(key, cost, now);
            }
        }
        self.arrive(key, cost, now, None, deadline).await
    }

    /// Asks, and waits for the answer until a deadline.
    async fn arrive(
        &self,
        key: Key,
        cost: u32,
        now: Nanos,
        landing: Option<Landing>,
        deadline: Instant,
    ) -> Verdict {
        match timeout_at(deadline, self.depart(key, cost, now, landing)).await {
            Ok(Ok(Some(verdict))) => verdict,
            Ok(Ok(None)) => self.0.without_store(key, cost, now),
            // No answer in time, or the store's runtime has ended and nobody asks any more.
            Err(_) | Ok(Err(_)) => {
                self.0.store.0.link.breaker.failed();
                self.0.without_store(key, cost, now)
            }
        }
    }

    /// Asks in a task of its own, so that what was charged is not lost when nobody waits any more.
    fn depart(
        &self,
        key: Key,
        cost: u32,
        now: Nanos,
        landing: Option<Landing>,
    ) -> oneshot::Receiver<Option<Verdict>> {
        let (answer, waiting) = oneshot::channel();
        let budget = self.0.clone();
        self.0.store.0.runtime.spawn(async move {
            let verdict = budget.ask(key, cost, cost, now).await;
            let admitted = verdict.is_some_and(|verdict| verdict.passes());
            // No more than fits in a note, and of that only what whole requests can spend.
            let followers = landing.as_ref().map_or(0, Landing::followers);
            let wanted = cost * followers.min(MOST.checked_div(cost).unwrap_or(0));
            // Whoever comes from now on asks by itself, unless there are those who wait.
            let landing = landing.filter(|_| admitted && wanted > 0);
            if answer.send(verdict).is_err() && admitted {
                budget.keep(key, cost, now);
            }
            // Those are asked for together, or each would ask in its turn.
            if landing.is_some()
                && budget.held(key, now) < wanted
                && budget.ask(key, cost, wanted, now).await.is_some_and(|verdict| verdict.passes())
            {
                budget.keep(key, cost, now);
            }
            drop(landing);
        });
        waiting
    }

    /// Gives back what an admitted request was charged, for example because it failed through no fault of the caller;
    /// whether it still counted. Credit goes back to this node, the rest to the store, for which it waits as a check does.
    pub async fn refund(&self, standing: &Standing, now: Nanos) -> bool {
        self.refund_in(standing.receipt.key(), standing, now).await
    }

    /// The same where the state is in the slot of another key.
    pub(crate) async fn refund_in(&self, slot: Key, standing: &Standing, now: Nanos) -> bool {
        if let Some(refunded) = self.refund_here(standing, now) {
            return refunded;
        }
        let (key, cost) = (standing.receipt.key(), standing.receipt.cost());
        let Ok(charged) = i64::try_from(standing.receipt.charged()) else { return false };
        let script = &self.0.store.0.link.scripts.refund;
        let refunded = self.run(script, key, slot, &[charged, cost.into()], now).await;
        if let Some(leases) = self.0.leases_at(now) {
            leases.forget_refusal(key, now);
        }
        refunded
    }

    /// Gives back what was charged to this node's credit or share; whether it still counted. `None` if it was charged in
    /// the store.
    pub(crate) fn refund_here(&self, standing: &Standing, now: Nanos) -> Option<bool> {
        let (key, cost) = (standing.receipt.key(), standing.receipt.cost());
        match standing.basis {
            _ if cost == 0 => Some(false),
            Basis::Own => None,
            Basis::Leased => {
                let ends = Nanos(standing.receipt.charged());
                Some(self.0.leases_at(now).is_some_and(|leases| leases.give_back(key, cost, ends, now)))
            }
            _ => Some(self.0.share.refund(standing.receipt, now)),
        }
    }

    /// Gives a caller its whole limit again, in the store and on this node; whether it had used any. Other nodes remember
    /// a refusal for as long as their [memory](crate::SharedLimiterBuilder::memory), and what they were lent stays theirs.
    pub async fn clear(&self, key: Key, now: Nanos) -> bool {
        self.clear_in(key, key, now).await
    }

    /// The same where the state is in the slot of another key.
    pub(crate) async fn clear_in(&self, slot: Key, key: Key, now: Nanos) -> bool {
        let script = &self.0.store.0.link.scripts.clear;
        let cleared = self.run(script, key, slot, &[], now).await;
        if let Some(leases) = self.0.leases_at(now) {
            leases.forget_refusal(key, now);
        }
        self.0.share.clear(key, now) || cleared
    }

    /// Runs a script about one caller's state within the time that a decision has; whether it did something.
    async fn run(&self, script: &redis::Script, key: Key, slot: Key, arguments: &[i64], now: Nanos) -> bool {
        let store = &self.0.store.0;
        if !store.link.admits(slot) {
            return false;
        }
        let stored_at = self.0.stored_at(key, slot);
        let arguments: Vec<i64> = self.0.figures.iter().chain(arguments).copied().collect();
        let keys = [stored_at.as_str()];
        let run = store.link.run::<i64>(script, &keys, &arguments, now, &store.tallies);
        matches!(timeout(store.link.wait, run).await, Ok(Ok(1)))
    }

    /// The quota.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.0.quota
    }

    /// The most that passes at once: the limit, or the burst.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.0.account.limit()
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }
}

impl fmt::Debug for SharedLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLimiter")
            .field("name", &self.0.name)
            .field("quota", &self.0.quota)
            .finish_non_exhaustive()
    }
}
