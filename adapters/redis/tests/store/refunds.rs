//! Leased credit that is given back.

use tollgate::{Basis, Key, Nanos, Quota, Standing, Verdict};
use tollgate_redis::SharedLimiter;

use crate::support::{SECOND, TestServer, connected, key, node};

const LIMIT: u32 = 300;
const WINDOW: Nanos = Nanos::from_secs(1_000);

fn quotas() -> [Quota; 3] {
    let quota = Quota::new(LIMIT, WINDOW);
    [quota, quota.sliding(), quota.burst(LIMIT)]
}

/// Up to so many requests: how many pass, and what of them was charged to leases.
async fn passing(limiter: &SharedLimiter, caller: Key, most: u32, now: Nanos) -> (u32, Vec<Standing>) {
    let (mut passed, mut leased) = (0, Vec::new());
    while passed < most
        && let Verdict::Admitted(standing) = limiter.check(caller, 1, now).await
    {
        passed += 1;
        leased.extend((standing.basis == Basis::Leased).then_some(standing));
    }
    (passed, leased)
}

/// What was charged to one window is no credit for the next, however long a response takes.
#[tokio::test]
async fn credit_of_a_window_is_not_given_back_to_the_next() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    for (caller, quota) in (0..).map(key).zip(quotas()) {
        let limiter = store.limiter("late", quota).capacity(256).build().unwrap();
        let (passed, leased) = passing(&limiter, caller, 200, SECOND).await;
        assert!(passed == 200 && leased.len() > 100, "{quota:?}: {passed}, {}", leased.len());
        // All is there again, and some of it is lent.
        let later = Nanos(SECOND.0 + 2 * WINDOW.0);
        let (before, _) = passing(&limiter, caller, 10, later).await;
        for standing in &leased {
            assert!(!limiter.refund(standing, later).await, "{quota:?}");
        }
        let (after, _) = passing(&limiter, caller, 1_000, later).await;
        assert_eq!(before + after, LIMIT, "{quota:?}");
    }
}

/// Requests that fail after their caller was refused another are given back too.
#[tokio::test]
async fn credit_is_given_back_after_a_refusal() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    for (caller, quota) in (0..).map(key).zip(quotas()) {
        let limiter = store.limiter("refused", quota).capacity(256).build().unwrap();
        let (passed, leased) = passing(&limiter, caller, 1_000, SECOND).await;
        assert!(passed == LIMIT && leased.len() > 100, "{quota:?}: {passed}, {}", leased.len());
        for standing in &leased {
            assert!(limiter.refund(standing, SECOND).await, "{quota:?}");
        }
        let (again, _) = passing(&limiter, caller, 1_000, SECOND).await;
        assert!(again <= u32::try_from(leased.len()).unwrap() && again > 100, "{quota:?}: {again}");
        if quota == quotas()[0] {
            assert_eq!(again as usize, leased.len());
        }
    }
}
