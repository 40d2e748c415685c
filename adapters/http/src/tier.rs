//! A gate's limits.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use tollgate::{
    Account, BoxedLimiter, BuildError, GlobalLimiter, Key, Keyer, Limit, Nanos, Origin, Prefixes, Presented,
    Quota, Reason, Receipt, Refusal, Standing, Verdict,
};

use crate::error::GateError;
use crate::policy::{self, Policy};
use crate::text::Ready;
use crate::tiers::Tiers;
use crate::upkeep::Upkeep;

/// A policy with its budgets.
pub(crate) struct Tier {
    pub(crate) name: String,
    sharers: Sharers,
    budgets: Budgets,
    /// Then more is there when all is. It stays so: a quota can only be changed to one of its kind.
    is_fixed_window: bool,
}

/// Who shares a budget.
#[derive(Clone, Copy)]
enum Sharers {
    /// A network of these prefixes' lengths.
    Network {
        prefixes: Prefixes,
        are_callers: bool,
    },
    Everyone,
}

enum Budgets {
    Kept(Arc<Upkeep<BoxedLimiter>>),
    One(Box<GlobalLimiter>),
    /// In a store that other nodes use too; here is what it computes with.
    Shared(Account),
}

impl Tier {
    /// The budgets of a policy, where `prefixes` and `capacity` are the gate's own.
    pub(crate) fn new(
        policy: Policy,
        capacity: usize,
        prefixes: Prefixes,
        is_shared: bool,
    ) -> Result<Self, GateError> {
        if !policy.has_plain_name() {
            return Err(GateError::PolicyName { name: policy.name });
        }
        let told = |error| GateError::Limiter { policy: policy.name.clone(), error };
        let told_quota = |error| told(BuildError::Quota(error));
        let sharers = match policy.sharers {
            policy::Sharers::Everyone => Sharers::Everyone,
            policy::Sharers::Network { v4, v6 } => Sharers::Network {
                prefixes: Prefixes::new(v4.unwrap_or(prefixes.v4()), v6.unwrap_or(prefixes.v6()))?,
                are_callers: v4.is_none() && v6.is_none(),
            },
        };
        let budgets = match sharers {
            _ if is_shared => Budgets::Shared(Account::new(policy.quota).map_err(told_quota)?),
            Sharers::Everyone => {
                Budgets::One(Box::new(GlobalLimiter::try_new(policy.quota).map_err(told_quota)?))
            }
            Sharers::Network { .. } => {
                let limiter = BoxedLimiter::with_capacity(policy.quota, policy.capacity.unwrap_or(capacity))
                    .map_err(told)?;
                Budgets::Kept(Upkeep::new(limiter.with_overflow(policy.overflow)))
            }
        };
        Ok(Self { is_fixed_window: policy.quota.is_fixed_window(), name: policy.name, sharers, budgets })
    }

    /// Begins at the clock's time.
    pub(crate) fn begin(&self, now: Nanos) {
        if let Budgets::Kept(kept) = &self.budgets {
            kept.rest(now);
        }
    }

    /// Whose budget a request uses. A `caller` takes the place of the address where budgets are callers'; those of networks
    /// are by address alone. `None` if the address is needed and not known.
    pub(crate) fn key(&self, keyer: &Keyer, origin: Option<&Origin>, caller: Option<Key>) -> Option<Key> {
        let Sharers::Network { prefixes, are_callers } = self.sharers else {
            return Some(Key::from_fingerprint(0));
        };
        let address = || origin.map(|origin| keyer.address(origin.at(prefixes).network()));
        if !are_callers {
            return address();
        }
        caller.or_else(address)
    }

    /// Whether nobody shares the budgets, so that whoever is over one has used it up.
    pub(crate) fn is_of_callers(&self) -> bool {
        matches!(self.sharers, Sharers::Network { are_callers: true, .. })
    }

    /// Whether all callers together have one budget.
    pub(crate) fn is_of_everyone(&self) -> bool {
        matches!(self.sharers, Sharers::Everyone)
    }

    /// How much is left to a caller; of a budget for everybody, or in a store, that is not told.
    pub(crate) fn remaining(&self, key: Key, now: Nanos) -> u32 {
        match &self.budgets {
            Budgets::Kept(kept) => kept.limiter().peek(key, now).remaining,
            Budgets::One(_) | Budgets::Shared(_) => 0,
        }
    }

    /// The most that passes at once.
    pub(crate) fn most(&self) -> u32 {
        match &self.budgets {
            Budgets::Kept(kept) => kept.limiter().limit(),
            Budgets::One(limiter) => limiter.limit(),
            Budgets::Shared(account) => account.limit(),
        }
    }

    /// Decides by the budgets that are here; nothing passes by others.
    #[inline]
    pub(crate) fn check(&self, key: Key, presented: Presented, now: Nanos, cost: u32) -> Verdict {
        match &self.budgets {
            Budgets::Kept(kept) => kept.limiter().check_n(key, presented, now, cost),
            Budgets::One(limiter) => limiter.check_n(presented, now, cost),
            Budgets::Shared(account) => {
                Verdict::Refused(Refusal::new(account.limit(), account.window(), Reason::Unreachable))
            }
        }
    }

    pub(crate) fn refund(&self, receipt: Receipt, now: Nanos) -> bool {
        match &self.budgets {
            Budgets::Kept(kept) => kept.limiter().refund(receipt, now),
            Budgets::One(limiter) => limiter.refund(receipt, now),
            Budgets::Shared(_) => false,
        }
    }

    /// `None` if the budgets are not here.
    pub(crate) fn limit(&self) -> Option<&dyn Limit> {
        match &self.budgets {
            Budgets::Kept(kept) => Some(kept.limiter()),
            Budgets::One(limiter) => Some(&**limiter),
            Budgets::Shared(_) => None,
        }
    }

    /// The time until more than what remains is there, from `now`, when the request was decided. With fixed windows that is told
    /// as it was then, whatever the quota has become.
    #[inline]
    pub(crate) fn more_in(&self, standing: &Standing, now: Nanos) -> Nanos {
        if self.is_fixed_window { standing.resets_in } else { self.more_in_by_rule(standing, now) }
    }

    /// The same by any rule.
    #[inline(never)]
    fn more_in_by_rule(&self, standing: &Standing, now: Nanos) -> Nanos {
        match &self.budgets {
            Budgets::Kept(kept) => kept.limiter().more_in(standing, now),
            Budgets::One(limiter) => limiter.more_in(standing, now),
            Budgets::Shared(account) => shared_more_in(account, standing),
        }
    }

    pub(crate) fn enforced_window(&self) -> Nanos {
        match &self.budgets {
            Budgets::Kept(kept) => kept.limiter().enforced_window(),
            Budgets::One(limiter) => limiter.enforced_window(),
            Budgets::Shared(account) => account.window(),
        }
    }

    /// The table, if there is one: a budget for each caller, on this node.
    pub(crate) fn kept(&self) -> Option<&Arc<Upkeep<BoxedLimiter>>> {
        match &self.budgets {
            Budgets::Kept(kept) => Some(kept),
            Budgets::One(_) | Budgets::Shared(_) => None,
        }
    }

    /// Nobody waits for the sweep that this may start.
    #[inline]
    pub(crate) fn see_to_it(&self, now: Nanos) {
        if let Budgets::Kept(kept) = &self.budgets {
            drop(kept.see_to_it(now));
        }
    }
}

/// The time until more than what remains is there, from what a store says. With GCRA that is an interval at most; of windows
/// it is said when all is there.
fn shared_more_in(account: &Account, standing: &Standing) -> Nanos {
    match account.fades() {
        Some(interval) => {
            let missing = standing.limit.saturating_sub(standing.remaining).saturating_sub(1);
            let then = interval.0.saturating_mul(missing.into());
            let wait = standing.resets_in.saturating_sub(Nanos(then)).min(interval);
            // A debt may be so much above the burst.
            wait.saturating_sub(Nanos(interval.0 / LEEWAY))
        }
        None => standing.resets_in,
    }
}

/// As the core's GCRA has it.
const LEEWAY: u64 = 256;

/// What is said of the policies, which is the same on every response until a quota changes.
pub(crate) struct Texts {
    /// Of the gate's policies and then of its classes.
    pub(crate) quotas: Vec<Quota>,
    /// `RateLimit-Policy` for the gate's own quota and for each class.
    pub(crate) lists: Vec<Ready>,
    /// What a refusal says of each of the quotas.
    pub(crate) used_up: Vec<String>,
}

impl Texts {
    pub(crate) fn new(quotas: Vec<Quota>, tiers: &Tiers, in_flight: Option<u32>) -> Self {
        let member = |(tier, quota): (&Tier, &Quota)| member(&tier.name, *quota);
        let mut members = tiers.all().zip(&quotas).map(member);
        let first = members.next();
        let further: Vec<_> = members.by_ref().take(tiers.further.len()).collect();
        let under_way = in_flight.map(|most| format!("\"{IN_FLIGHT}\";q={most};qu=\"concurrent-requests\""));
        let of = |first: String| {
            let all: Vec<_> =
                iter::once(first).chain(further.iter().cloned()).chain(under_way.clone()).collect();
            Ready::new(all.join(", "))
        };
        let lists = first.into_iter().chain(members).map(of).collect();
        let used_up = quotas.iter().copied().map(used_up).collect();
        Self { quotas, lists, used_up }
    }
}

/// What responses call the limit of requests under way.
pub(crate) const IN_FLIGHT: &str = "in-flight";

/// `"name";q=300;w=60`.
fn member(name: &str, quota: Quota) -> String {
    let (limit, window) = (quota.limit(), quota.window());
    // `w` is an integer above 0. A part of a second is rounded up: whoever paces itself by it is never refused.
    if window.0 < 1_000_000_000 {
        format!("\"{name}\";q={limit}")
    } else {
        format!("\"{name}\";q={limit};w={}", window.whole_secs_up())
    }
}

/// In printable ASCII without quotes, backslashes and percent signs.
fn used_up(quota: Quota) -> String {
    let seconds = Duration::from(quota.window()).as_secs_f64();
    format!("The limit of {} requests in {seconds} s is used up.", quota.limit())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::policy::LONGEST_POLICY_NAME;

    fn described(quota: Quota) -> String {
        member("default", quota)
    }

    #[test]
    fn describes_the_quota() {
        assert_eq!(described(Quota::per_minute(300)), r#""default";q=300;w=60"#);
        assert_eq!(described(Quota::per_second(10)), r#""default";q=10;w=1"#);
        assert_eq!(
            described(Quota::at_most(10).in_any(Nanos::from_millis(1500)).burst(5)),
            r#""default";q=10;w=2"#
        );
        assert_eq!(described(Quota::new(10, Nanos::from_millis(999))), r#""default";q=10"#);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        // The rule says when more is there, of a window that began earlier or ahead of the clock, too.
        #[test]
        fn fixed_windows_come_back_at_once(
            window in 1_000_000..=10_000_000_000_u64,
            steps in vec((0..2_000_000_000_u64, any::<bool>(), 0..4_u32), 1..40),
        ) {
            let policy = Policy::new("default", Quota::new(30, Nanos(window)));
            let tier = Tier::new(policy, 64, Prefixes::default(), false).unwrap();
            let mut now = Nanos::from_secs(100);
            tier.begin(now);
            for (step, goes_back, cost) in steps {
                now = if goes_back { now.saturating_sub(Nanos(step)) } else { now.saturating_add(Nanos(step)) };
                let verdict = tier.check(Key::from_fingerprint(u64::MAX / 7), Presented::Absent, now, cost);
                prop_assert!(tier.is_fixed_window);
                if let Verdict::Admitted(standing) = verdict
                    && standing.remaining < standing.limit
                {
                    prop_assert_eq!(tier.more_in(&standing, now), tier.more_in_by_rule(&standing, now));
                }
            }
        }
    }

    #[test]
    fn the_longest_fits() {
        let name = "n".repeat(LONGEST_POLICY_NAME);
        let member = member(&name, Quota::new(u32::MAX, Nanos::MAX));
        assert_eq!(member, format!("\"{name}\";q=4294967295;w=18446744074"));
    }
}
