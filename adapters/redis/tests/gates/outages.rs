use std::time::{Duration, Instant};

use tollgate_axum::Mode;
use tollgate_conformance::Caller;
use tollgate_redis::{Outage, Server, SharedLimiterBuilder, State, Store};

use crate::support::outages::real_node;
use crate::support::{DEADLINE, KEYER, TestServer, eventually, free_port};
use crate::{TOKEN, gate, serve};

/// A store whose server is not there.
fn without_server() -> Store {
    let server = Server::single(format!("redis://127.0.0.1:{}", free_port()));
    Store::builder(server, &KEYER).nodes(3).build().unwrap()
}

/// What a caller is answered while the server is away, by what was chosen; never an error of the server's own.
#[tokio::test]
async fn whatever_was_chosen_is_answered() {
    for (outage, expected) in [
        (Outage::Share, [200, 200, 429, 429]),
        (Outage::Open, [200, 200, 200, 200]),
        (Outage::Closed, [503, 503, 503, 503]),
    ] {
        let store = without_server();
        let caller = Caller::from(1, serve(gate(6, store.with(move |limit| limit.outage(outage)))).await);
        assert_eq!(caller.statuses("/", 4).await, expected, "{outage:?}");
        let last = caller.get("/").await;
        if outage == Outage::Share {
            assert_eq!(last.lines("ratelimit")[0].split(';').nth(1), Some("r=0"));
            assert!(last.body.windows(12).any(|part| part == b"server's sha"), "{:?}", last.body);
        }
        if outage == Outage::Closed {
            assert_eq!((last.lines("retry-after"), last.lines("ratelimit")), (vec!["1"], vec![]));
        }
    }
}

/// Own services pass while the store is away, and it is not asked about them.
#[tokio::test]
async fn own_services_pass_without_a_store() {
    let store = without_server();
    let closed = store.with(|limiter| limiter.outage(Outage::Closed));
    let caller = Caller::from(1, serve(gate(5, closed)).await);
    for _ in 0..20 {
        assert_eq!(caller.get_with("/", TOKEN).await.status, 200);
    }
    assert_eq!(caller.get_with("/", "a made-up token").await.status, 503);
    assert_eq!((store.counts().in_outage, store.counts().round_trips), (1, 0));
}

/// In shadow mode nobody is refused, whatever the store does.
#[tokio::test]
async fn nobody_is_refused_in_shadow_mode() {
    let closed = without_server().with(|limiter| limiter.outage(Outage::Closed));
    let caller = Caller::from(1, serve(gate(2, closed).mode(Mode::Shadow)).await);
    assert_eq!(caller.statuses("/", 5).await, [200; 5]);
}

/// A server that stands still, and one that dies, while requests come: each is answered within the wait, with 200 or 429,
/// and once the server is back the limit is the cluster's again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_is_no_outage_of_ours() {
    let Some(mut server) = TestServer::start(&[]) else { return };
    let store = real_node(server.port).await;
    let strict = store.with(SharedLimiterBuilder::strict);
    let app = serve(gate(60, strict)).await;
    for (host, dies) in [(1, false), (2, true)] {
        let caller = Caller::from(host, app);
        let is_back = async || {
            let reply = Caller::from(host + 100, app).get("/").await;
            store.state() == State::Connected && reply.lines("ratelimit-policy").len() == 1
        };
        eventually("the store decides", is_back).await;
        assert_eq!(caller.get("/").await.status, 200);
        if dies {
            server.kill();
        } else {
            server.signal("STOP");
        }
        let (mut slowest, mut passed) = (Duration::ZERO, 0);
        for _ in 0..40 {
            let began = Instant::now();
            let status = tokio::time::timeout(DEADLINE, caller.get("/")).await.unwrap().status;
            slowest = slowest.max(began.elapsed());
            assert!(matches!(status, 200 | 429), "{status}");
            passed += usize::from(status == 200);
        }
        println!("dies: {dies}; the slowest answer took {slowest:?}, {passed} of 40 passed on a share of 20");
        assert!((20..=21).contains(&passed), "{passed}");
        if dies {
            server.restart();
        } else {
            server.signal("CONT");
        }
        eventually("the store decides again", is_back).await;
        // What passed meanwhile is charged: this node's share, and with it no more than the limit.
        let mut after = 0;
        while caller.get("/").await.status == 200 {
            after += 1;
        }
        assert!(after + passed <= 61 && after >= 20, "{after} after {passed}");
    }
}
