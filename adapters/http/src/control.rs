//! What can be changed while a gate is in use.

use tollgate::{Nanos, Quota, SetQuotaError};

use crate::decision::{Decision, Outcome};
use crate::fields::Fields;
use crate::gate::Gate;
use crate::mode::Mode;
use crate::tier::Texts;

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
    /// The quota can't be enforced, or the counts would not mean the same.
    #[error(transparent)]
    Quota(#[from] SetQuotaError),
}

impl Gate {
    /// Enforces, watches or leaves alone, from the next request on. Counts stay.
    pub fn set_mode(&self, mode: Mode) {
        self.mode.set(mode);
    }

    /// Holds the callers of the policy or class `name` to another quota, from the next request on. Counts stay.
    ///
    /// # Errors
    /// If there is no such policy, or the quota can't be enforced with the counts that there are: the algorithm must be
    /// the same, its window of a similar length and its limit of as many binary digits. See
    /// [`RateLimiter::set_quota`](tollgate::RateLimiter::set_quota).
    pub fn set_quota(&self, name: &str, quota: Quota) -> Result<(), ChangeError> {
        let mut tiers = self.tiers.iter().chain(&self.classes);
        let Some((index, tier)) = tiers.by_ref().enumerate().find(|(_, tier)| tier.name == name) else {
            return Err(ChangeError::NoSuchPolicy { name: name.into() });
        };
        tier.kept().ok_or(ChangeError::ForEveryone)?.limiter().set_quota(quota)?;
        self.texts.rcu(|texts| {
            let mut quotas = texts.quotas.clone();
            if let Some(place) = quotas.get_mut(index) {
                *place = quota;
            }
            Texts::new(quotas, &self.tiers, &self.classes, self.most_in_flight)
        });
        Ok(())
    }

    /// Whether the request that was decided so is charged, now that its response is known; its fields. Once for each
    /// decision, and only by whoever sends its response.
    ///
    /// The charge was made when the request was decided, so that no number of requests at once exceeds the limit, and is
    /// given back here. A request that is never settled, because its client went away, stays charged.
    pub fn settle(&self, decision: &Decision, status: u16) -> Option<Fields> {
        let is_refunded = match (&self.charge_if, &decision.outcome) {
            (Some(charge_if), Outcome::Admitted(_)) => !charge_if(status) && self.refund(decision),
            _ => false,
        };
        self.fields_of(decision, is_refunded)
    }

    /// Gives back what an admitted request was charged; whether it still counted. Once for each decision.
    pub fn refund(&self, decision: &Decision) -> bool {
        let now: Nanos = self.ticker.now();
        let chosen = self.chosen(decision.class).zip(decision.standings());
        chosen.fold(false, |any, (tier, standing)| tier.refund(standing.receipt, now) || any)
    }
}
