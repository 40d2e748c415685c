//! What can be changed while a gate is in use.

use std::sync::PoisonError;

use tollgate::{Quota, SetQuotaError, Standing};

use crate::decision::Decision;
use crate::gate::Gate;
use crate::mode::Mode;
use crate::policy::MOST_POLICIES;
use crate::shared::SharedBudgets;
use crate::tier::{Texts, Tier};

/// Why a policy can't be held to another quota.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The gate has no such policy.
    #[error("no policy or class is called {name:?}: use the name that responses call it by")]
    NoSuchPolicy {
        /// What was given.
        name: String,
    },
    /// The policy is for everyone.
    #[error("the quota of a policy for everyone can't be changed: build another gate")]
    ForEveryone,
    /// The policy's budgets are shared with other nodes.
    #[error(
        "the quota of a shared policy can't be changed while it runs: start the nodes one after the other with the new \
         one; their counts go on if the limit has as many binary digits"
    )]
    Shared,
    /// The quota can't be enforced, or the counts would not mean the same.
    #[error(transparent)]
    Quota(#[from] SetQuotaError),
}

impl Gate {
    /// Enforces, watches or leaves alone, from the next request on. Counts stay; the list of throttled callers begins anew,
    /// unless the mode is what it was, since whoever *would* be refused was not.
    pub fn set_mode(&self, mode: Mode) {
        let was = self.mode.load();
        self.mode.set(mode);
        if let Some(watching) = self.watching.as_ref().filter(|_| was != mode) {
            watching.begin_anew();
        }
    }

    /// Holds the callers of the policy or class `name` to another quota, from the next request on. Counts stay.
    ///
    /// # Errors
    /// If there is no such policy, or the quota can't be enforced with the counts that there are: the algorithm must be
    /// the same, its window of a similar length and its limit of as many binary digits. See
    /// [`RateLimiter::set_quota`](tollgate::RateLimiter::set_quota).
    pub fn set_quota(&self, name: &str, quota: Quota) -> Result<(), ChangeError> {
        let Some((index, tier)) = self.tiers.all().enumerate().find(|(_, tier)| tier.name == name) else {
            return Err(ChangeError::NoSuchPolicy { name: name.into() });
        };
        let here = if self.shared.is_some() { ChangeError::Shared } else { ChangeError::ForEveryone };
        let limiter = tier.kept().ok_or(here)?.limiter();
        // One change after the other, or what is told may not be what is enforced.
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        limiter.set_quota(quota)?;
        let mut quotas = self.texts.load().quotas.clone();
        if let Some(place) = quotas.get_mut(index) {
            *place = quota;
        }
        self.texts.store(Texts::new(quotas, &self.tiers, self.most_in_flight));
        Ok(())
    }

    /// Settles a decision of this gate's; see [`Permit::settle`](crate::Permit::settle).
    #[inline]
    pub(crate) fn settle_decision(&self, decision: &Decision, status: u16, inner: Option<&Decision>) {
        let is_refused_inside = inner.is_some_and(|inner| inner.0.gate != self.id && !inner.passes());
        let is_free = self.refunds_inner_refusals && is_refused_inside
            || self.charge_if.as_ref().is_some_and(|charge_if| !charge_if(status));
        if is_free {
            self.refund(decision);
        }
    }

    /// Gives back what a decision has charged, policy by policy.
    #[inline(never)]
    fn refund(&self, decision: &Decision) {
        if let Some(shared) = &self.shared {
            self.refund_shared(&**shared, decision);
            return;
        }
        let now = self.ticker.now();
        let refund = |(tier, standing): (&Tier, &Standing)| tier.refund(standing.receipt, now);
        let refunded = self.tiers.chosen(decision.0.class).zip(decision.standings()).map(refund);
        decision.0.refunds.settle(refunded);
    }

    /// Gives back what a store has charged; which of it counts as given back, since nobody waits to hear.
    #[cold]
    fn refund_shared(&self, shared: &dyn SharedBudgets, decision: &Decision) {
        let standings = decision.standings();
        let limits: heapless::Vec<usize, MOST_POLICIES> =
            self.tiers.numbers(decision.0.class).take(standings.len()).collect();
        shared.refund(&limits, standings, self.ticker.now());
        decision.0.refunds.settle(standings.iter().map(|standing| standing.receipt.cost() > 0));
    }
}
