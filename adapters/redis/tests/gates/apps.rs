use tokio::task::JoinSet;
use tollgate_axum::{Policy, Quota};
use tollgate_conformance::Caller;
use tollgate_redis::TimeSource;

use crate::support::{TestServer, connected, node};
use crate::{gate, serve};

/// Of many requests at once to three apps exactly the limit passes: with leases and without, with one policy and several.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_apps_admit_the_limit_together() {
    let Some(server) = TestServer::start(&[]) else { return };
    for (host, strict, several) in [(1, false, false), (2, true, false), (3, false, true), (4, true, true)] {
        let mut apps = Vec::new();
        for _ in 0..3 {
            // Each app is a node, with a connection of its own.
            let store = connected(node(&server).time(TimeSource::Server).nodes(3)).await;
            let settled = store.with(move |limiter| if strict { limiter.strict() } else { limiter });
            let mut gate = gate(300, settled).policy_name(format!("apps-{host}"));
            if several {
                gate =
                    gate.policy(Policy::new(format!("network-{host}"), Quota::per_hour(9_000)).v4_prefix(24));
            }
            apps.push(serve(gate).await);
        }
        let mut calling = JoinSet::new();
        for number in 0..24 {
            let caller = Caller::from(host, apps[number % 3]);
            calling.spawn(async move { caller.statuses("/", 40).await });
        }
        let statuses = calling.join_all().await.concat();
        assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
        let admitted = statuses.iter().filter(|&&status| status == 200).count();
        if strict {
            assert_eq!(admitted, 300, "strict, {several}");
        } else {
            // A twentieth may be lent and never spent.
            assert!((285..=300).contains(&admitted), "{admitted} with leases, {several}");
        }
    }
    assert!(server.lives().iter().all(|&(_, life)| life > 0), "{:?}", server.lives());
}

/// A hot caller costs much fewer round trips than requests.
#[tokio::test]
async fn a_hot_caller_seldom_waits() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server).time(TimeSource::Server)).await;
    let caller = Caller::from(1, serve(gate(100_000, store.clone())).await);
    let before = store.counts().round_trips;
    assert_eq!(caller.statuses("/", 1_000).await, [200; 1_000]);
    let asked = store.counts().round_trips - before;
    assert!((1..50).contains(&asked), "{asked} round trips for 1,000 requests");
}
