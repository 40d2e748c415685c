use std::sync::atomic::Ordering;
use std::time::Instant;

use tollgate::{Basis, Reason, Verdict};
use tollgate_redis::State;

use crate::support::outages::{LIMIT, Policies};
use crate::support::proxy::Proxy;
use crate::support::{TestServer, eventually, key};

#[tokio::test]
async fn a_server_that_stands_still() {
    let Some(server) = TestServer::start(&[]) else { return };
    let policies = Policies::in_place(server.port).await;
    server.signal("STOP");
    policies.hold(key(1)).await;
    server.signal("CONT");
    policies.recovered("stopped and continued", key(1)).await;
    assert!(server.lives().iter().all(|&(_, life)| life > 0), "{:?}", server.lives());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_stands_still() {
    let Some(server) = TestServer::start(&[]) else { return };
    let proxy = Proxy::before(server.port).await;
    let policies = Policies::in_place(proxy.port).await;
    proxy.hold(true);
    policies.hold(key(1)).await;
    proxy.hold(false);
    policies.recovered("a network that stood still", key(1)).await;
}

/// While the server is away it is probed by the keeper alone, so its return is met by one connection of each node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_back_is_not_stormed() {
    let Some(server) = TestServer::start(&[]) else { return };
    let proxy = Proxy::before(server.port).await;
    let policies = Policies::in_place(proxy.port).await;
    proxy.hold(true);
    policies.hold(key(1)).await;
    let (trips, connections) =
        (policies.store().counts().round_trips, proxy.connections.load(Ordering::Relaxed));
    for caller in 0..10_000 {
        let verdict = policies.check(&policies.share, key(100 + caller)).await;
        // There are more callers than the table has room for, so not all pass.
        let own = matches!(verdict, Verdict::Admitted(standing) if standing.basis == Basis::Own);
        assert!(!own, "{verdict:?}");
    }
    assert_eq!(policies.store().counts().round_trips, trips);
    assert!(proxy.connections.load(Ordering::Relaxed) < connections + 1_000);
    proxy.hold(false);
    policies.recovered("ten thousand callers waiting", key(1)).await;
}

/// An answer that comes too late has been charged all the same: what it brings is kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_answer_is_not_lost() {
    let Some(server) = TestServer::start(&[]) else { return };
    let proxy = Proxy::before(server.port).await;
    let policies = Policies::in_place(proxy.port).await;
    proxy.hold(true);
    let verdict = policies.check(&policies.share, key(1)).await;
    assert!(matches!(verdict, Verdict::Admitted(standing) if standing.basis == Basis::Share), "{verdict:?}");
    proxy.hold(false);
    let mut late = None;
    // It may be a fault for longer on a slow machine, and the answer lost with the connection.
    eventually("the late answer is there, or its connection is gone", async || {
        late = policies.share.try_check(key(1), 1, policies.now());
        late.is_some() || policies.store().counts().round_trips > 4 && policies.is_back(key(2)).await
    })
    .await;
    if let Some(verdict) = late {
        assert!(
            matches!(verdict, Verdict::Admitted(standing) if standing.basis == Basis::Leased),
            "{verdict:?}"
        );
        assert!(matches!(verdict, Verdict::Admitted(standing) if standing.remaining <= LIMIT));
    }
}

/// A connection that is dead and does not say so holds up what was asked by it, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_lost() {
    let Some(server) = TestServer::start(&[]) else { return };
    let proxy = Proxy::before(server.port).await;
    let policies = Policies::in_place(proxy.port).await;
    proxy.lose();
    let began = Instant::now();
    let one = |caller| policies.check(&policies.share, key(caller));
    let (a, b, c, d) = tokio::join!(one(1), one(2), one(3), one(4));
    for verdict in [a, b, c, d] {
        assert!(
            matches!(verdict, Verdict::Admitted(standing) if standing.basis == Basis::Share),
            "{verdict:?}"
        );
    }
    eventually("the store decides again", async || policies.is_back(key(5)).await).await;
    println!("a lost connection: the store decides again after {:?}", began.elapsed());
    let mut passed = 0;
    while passed <= LIMIT && policies.check(&policies.share, key(6)).await.passes() {
        passed += 1;
    }
    assert_eq!(passed, LIMIT);
}

/// Whoever can make the server slow again and again gets one share in a window, and not one each time.
#[tokio::test]
async fn outages_of_one_window_grant_one_share() {
    let Some(server) = TestServer::start(&[]) else { return };
    let policies = Policies::in_place(server.port).await;
    let quota = tollgate::Quota::per_hour(LIMIT);
    let strict = policies.store().limiter("strict", quota).capacity(256).strict().build().unwrap();
    let passed = async |requests: u32| {
        let mut passed = 0;
        for _ in 0..requests {
            passed += u32::from(policies.check(&strict, key(1)).await.passes());
        }
        passed
    };
    assert_eq!(passed(LIMIT + 1).await, LIMIT);
    let mut granted = 0;
    for outage in 0..3 {
        server.signal("STOP");
        eventually("the fault is noticed", async || {
            let _ = policies.check(&policies.open, key(2)).await;
            policies.store().state() == State::Unreachable
        })
        .await;
        granted += passed(LIMIT).await;
        server.signal("CONT");
        eventually("the store decides", async || {
            let verdict = policies.check(&strict, key(1)).await;
            policies.is_back(key(10 + outage)).await
                && matches!(verdict, Verdict::Refused(refusal) if refusal.reason == Reason::OverLimit)
        })
        .await;
    }
    assert_eq!(granted, LIMIT / 3);
}
