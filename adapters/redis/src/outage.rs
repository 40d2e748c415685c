use std::sync::atomic::Ordering;

use tollgate::{
    Account, Basis, BoxedLimiter, BuildError, Key, Layout, Nanos, Presented, Quota, Reason, Receipt, Refusal,
    Standing, Verdict,
};

use crate::budget::Budget;

/// What decides while the store can't be asked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum Outage {
    /// This node's share of the limit, from a table of its own: the limit divided by the number of nodes, rounded down, at
    /// least 1. What it admits is charged to the shared budget when the store is back. The default.
    #[default]
    Share,
    /// Everything passes, uncounted.
    Open,
    /// Nothing passes.
    ///
    /// # Security
    /// Whoever can make the store slow can then take the service away from everybody.
    Closed,
}

impl Budget {
    /// Decides without the store.
    #[cold]
    pub(crate) fn without_store(&self, key: Key, cost: u32, now: Nanos) -> Verdict {
        self.store.0.tallies.outage.add(1);
        let limit = self.account.limit();
        match self.outage {
            Outage::Share => {
                // ORDERING: as in `question`.
                self.shared.store(true, Ordering::Relaxed);
                match self.share.check_n(key, Presented::Absent, now, cost) {
                    Verdict::Admitted(mut standing) => {
                        if standing.basis != Basis::Uncounted {
                            standing.basis = Basis::Share;
                        }
                        Verdict::Admitted(standing)
                    }
                    Verdict::Refused(refusal) => {
                        let retry_after = refusal.retry_after.min(self.account.window());
                        Verdict::Refused(Refusal::new(refusal.limit, retry_after, Reason::Share))
                    }
                    exempt @ Verdict::Exempt(_) => exempt,
                }
            }
            Outage::Open => {
                let remaining = limit.saturating_sub(cost);
                let mut standing = Standing::new(limit, remaining, Nanos::ZERO, Receipt::new(key, 0, 0));
                standing.basis = Basis::Uncounted;
                Verdict::Admitted(standing)
            }
            Outage::Closed => {
                let probed = Nanos::from_duration(self.store.0.probe);
                Verdict::Refused(Refusal::new(limit, probed, Reason::Unreachable))
            }
        }
    }
}

/// A table that holds callers to one node's share of a quota.
pub(crate) fn share(
    quota: Quota,
    account: &Account,
    nodes: u32,
    capacity: usize,
) -> Result<BoxedLimiter, BuildError> {
    let nodes = nodes.max(1);
    let part = |whole: u32| (whole / nodes).max(1);
    let share = match account.layout() {
        Layout::FixedWindow { limit, .. } => Quota::new(part(limit), quota.window()),
        Layout::SlidingWindow { limit, .. } => Quota::new(part(limit), quota.window()).sliding(),
        Layout::Gcra { burst, .. } => {
            let interval = account.fades().unwrap_or(quota.window()).0.saturating_mul(nodes.into());
            // The shortest and the longest window that a quota may have.
            let requests = if interval < 2048 { 2048 } else { 1 };
            let window = interval.saturating_mul(requests.into()).min(1 << 62);
            Quota::new(requests, Nanos(window)).burst(part(burst))
        }
    };
    BoxedLimiter::with_capacity(share, capacity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate::{Key, Presented};

    #[test]
    fn shares_add_up_to_no_more_than_the_limit() {
        for quota in
            [Quota::per_minute(300), Quota::per_minute(300).sliding(), Quota::per_minute(300).burst(100)]
        {
            let account = Account::new(quota).unwrap();
            for nodes in [1, 3, 7] {
                let share = share(quota, &account, nodes, 16).unwrap();
                let key = Key::from_fingerprint(0x1234_5678_9abc_def0);
                let passed = (0..10_000)
                    .filter(|n| share.check(key, Presented::Absent, Nanos(3_600_000_000_000 + n)).passes())
                    .count();
                assert_eq!(passed, (account.limit() / nodes) as usize, "{quota:?}, {nodes}");
                // In the long run too.
                let minutes = (0..60_000_u64)
                    .filter(|n| {
                        share
                            .check(key, Presented::Absent, Nanos(7_200_000_000_000 + n * 10_000_000))
                            .passes()
                    })
                    .count();
                let most = 11 * 300 / nodes as usize + passed;
                assert!(
                    minutes <= most && minutes + 400 / nodes as usize >= 10 * 300 / nodes as usize,
                    "{minutes}"
                );
            }
        }
    }
}
