use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use tollgate::{Basis, Keyer, Quota, Verdict};
use tollgate_redis::{Outage, Server, State, Store, StoreError};

use crate::support::{DEADLINE, KEYER, SECOND, TestServer, connected, eventually, key, node, strict};

#[tokio::test]
async fn nodes_with_another_seed_are_named() {
    let Some(server) = TestServer::start(&[]) else { return };
    let beating = |keyer: &Keyer, name: &str| {
        Store::builder(Server::single(server.address()), keyer)
            .wait(DEADLINE)
            .heartbeat(Duration::from_millis(20))
            .node(name)
    };
    let ours = connected(beating(&KEYER, "api-1")).await;
    let theirs = connected(beating(&Keyer::new(*b"another seed !!!"), "api-2")).await;
    let third = connected(beating(&KEYER, "api-3")).await;
    let elsewhere = connected(beating(&Keyer::new(*b"a third seed ! !"), "other").prefix("elsewhere")).await;
    eventually("the odd one out is named", async || ours.foreign_nodes() == ["api-2"]).await;
    eventually("and names the others", async || theirs.foreign_nodes().len() == 2).await;
    eventually("those with one seed are counted", async || ours.nodes() == 2 && third.nodes() == 2).await;
    assert_eq!((elsewhere.foreign_nodes(), elsewhere.nodes()), (vec![], 1));
    assert!(!format!("{:?}", server.lives()).contains("seed"));

    // A node that is gone is forgotten.
    drop(theirs);
    eventually("it is forgotten", async || ours.foreign_nodes().is_empty()).await;
}

#[tokio::test]
async fn prefixes_and_names_part_budgets_and_databases_do_too() {
    let Some(server) = TestServer::start(&[]) else { return };
    let once = Quota::per_hour(1);
    let here = connected(node(&server)).await;
    let there = connected(node(&server).prefix("there")).await;
    let address = Server::single(server.address()).database(3);
    let other = connected(Store::builder(address, &KEYER).wait(DEADLINE)).await;
    let limiters = [
        strict(&here, "a", once),
        strict(&here, "b", once),
        strict(&there, "a", once),
        strict(&other, "a", once),
        // The same name, for a quota whose states mean something else.
        strict(&here, "a", once.sliding()),
    ];
    for limiter in &limiters {
        assert!(limiter.check(key(1), 1, SECOND).await.passes());
    }
    let again = [strict(&here, "a", once), strict(&other, "a", once)];
    for limiter in limiters.iter().chain(&again) {
        assert!(!limiter.check(key(1), 1, SECOND).await.passes());
    }
    // Fingerprints, each in a slot of its own.
    let expected = format!("tollgate:{{{:016x}}}:a.f", key(1).fingerprint());
    assert!(server.lives().iter().any(|(name, _)| name.starts_with(&expected)), "{:?}", server.lives());
}

#[tokio::test]
async fn what_cannot_work_is_an_error_that_says_what_to_do() {
    let builder = |address: &str| Store::builder(Server::single(address), &KEYER);
    let wrong = |error: Result<Store, StoreError>| error.unwrap_err().to_string();
    assert!(wrong(builder("localhost").build()).contains("write redis://user:password@host:6379/0"));
    assert!(wrong(builder("redis://h").prefix("a:b").build()).contains("use letters"));
    assert!(wrong(builder("redis://h").prefix("").build()).contains("use letters"));
    assert!(wrong(builder("redis://h").wait(Duration::ZERO).build()).contains("leave its default"));
    let store = builder("redis://127.0.0.1:1").build().unwrap();
    assert!(
        store.limiter("a b", Quota::per_minute(1)).build().unwrap_err().to_string().contains("use letters")
    );
    assert!(
        store.limiter("a", Quota::per_minute(0)).build().unwrap_err().to_string().contains("use at least 1")
    );
    assert!(store.limiter("a", Quota::per_minute(1)).capacity(0).build().is_err());
    assert_eq!(store.state(), State::Unreachable);
    let secret = Server::single("redis://user:hidden@h").user("somebody", "hidden");
    assert!(!format!("{secret:?}{store:?}").contains("hidden"));
}

#[test]
fn a_store_needs_a_runtime() {
    let error = Store::builder(Server::single("redis://h"), &KEYER).build().unwrap_err();
    assert!(error.to_string().contains("build it inside a runtime"), "{error}");
}

#[test]
fn figures_go_through_the_facade() {
    let Some(server) = TestServer::start(&[]) else { return };
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    metrics::with_local_recorder(&recorder, || {
        runtime.block_on(async {
            let store = connected(node(&server)).await;
            let limiter = store
                .limiter("m", Quota::per_hour(1_000))
                .capacity(256)
                .outage(Outage::Closed)
                .build()
                .unwrap();
            for _ in 0..2_000 {
                let _ = limiter.check(key(1), 1, SECOND).await;
            }
            let counts = store.counts();
            assert_eq!(counts.by_node + counts.by_store, 2_000);
            assert!(counts.by_node > counts.round_trips * 10, "{counts:?}");
        });
    });
    let values: Vec<(String, DebugValue)> = snapshotter
        .snapshot()
        .into_vec()
        .into_iter()
        .map(|(key, _, _, value)| {
            let labels: Vec<&str> = key.key().labels().map(metrics::Label::value).collect();
            (format!("{}{labels:?}", key.key().name()), value)
        })
        .collect();
    let counted = |name: &str| values.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let Some(DebugValue::Counter(by_node)) = counted("tollgate_redis_decisions_total[\"node\"]") else {
        panic!()
    };
    assert!((1_000..2_000).contains(by_node), "{by_node}");
    let Some(DebugValue::Gauge(state)) = counted("tollgate_redis_state[]") else { panic!() };
    assert!(state.0.abs() < f64::EPSILON);
    let Some(DebugValue::Histogram(waits)) = counted("tollgate_redis_wait_seconds[]") else { panic!() };
    let Some(DebugValue::Counter(trips)) = counted("tollgate_redis_round_trips_total[]") else { panic!() };
    assert_eq!(waits.len() as u64, *trips);
}

/// A store whose runtime has ended is out of reach, and says so.
#[test]
fn a_store_does_not_outlive_its_runtime() {
    let Some(server) = TestServer::start(&[]) else { return };
    let first = tokio::runtime::Runtime::new().unwrap();
    let store = first.block_on(connected(node(&server)));
    drop(first);
    let limiter = store.limiter("l", Quota::per_hour(30)).capacity(256).build().unwrap();
    let second = tokio::runtime::Runtime::new().unwrap();
    for caller in 0..3 {
        let verdict = second.block_on(limiter.check(key(caller), 1, SECOND));
        assert!(
            matches!(verdict, Verdict::Admitted(standing) if standing.basis == Basis::Share),
            "{verdict:?}"
        );
    }
    assert_eq!(store.state(), State::Unreachable);
}
