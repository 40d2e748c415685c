use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{AllVerdict, BoxedLimiter, Limit, Nanos, Presented, Quota, check_all};
use tollgate_redis::{SharedLimits, StoreError};

use crate::support::{SECOND, TestServer, connected, key, node, strict};

const QUOTAS: [Quota; 3] = [
    Quota::per_minute(6),
    Quota::new(9, Nanos::from_secs(90)).sliding(),
    Quota::new(20, Nanos::from_secs(100)).burst(8),
];

/// Deciding by the store in one step is deciding in memory, one limit after the other with undoing.
#[test]
fn several_limits_decide_as_in_memory() {
    let Some(server) = TestServer::start(&[]) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(connected(node(&server)));
    let config = ProptestConfig { failure_persistence: None, cases: 100, ..ProptestConfig::default() };
    let callers = std::cell::Cell::new(0);
    proptest!(config, |(steps in vec((1..4_u32, 0..30_u64), 1..60))| {
        callers.set(callers.get() + 1);
        let caller = key(callers.get());
        let _guard = runtime.enter();
        let limiters = QUOTAS.map(|quota| store.limiter("s", quota).capacity(64).strict().build().unwrap());
        let limits = SharedLimits::new(limiters).unwrap();
        let memory = QUOTAS.map(|quota| BoxedLimiter::with_capacity(quota, 16).unwrap());
        let mut now = 1_764_000_000_000_000_000;
        for &(cost, passes) in &steps {
            now += passes * 1_000_000_000;
            let pairs = memory.each_ref().map(|limit| (limit as &dyn Limit, caller));
            let expected = check_all(pairs, Presented::Absent, Nanos(now), cost);
            let verdict = runtime.block_on(limits.check([caller; 3], cost, Nanos(now)));
            prop_assert_eq!(verdict, expected);
        }
    });
}

#[tokio::test]
async fn what_one_limit_refuses_no_other_is_charged_for() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    let build = |name, limit| store.limiter(name, Quota::per_hour(limit)).capacity(256).build().unwrap();
    let (wide, narrow) = (build("wide", 1_000), build("narrow", 100));
    let both = SharedLimits::new([wide.clone(), narrow.clone()]).unwrap();
    let trips = store.counts().round_trips;
    let (mut passed, mut refused) = (0, 0);
    for _ in 0..500 {
        match both.check([key(1), key(2)], 1, SECOND).await {
            AllVerdict::Admitted(standings) => {
                assert_eq!(standings.len(), 2);
                passed += 1;
            }
            AllVerdict::Refused { by, .. } => {
                assert_eq!(by, 1);
                refused += 1;
            }
            AllVerdict::Exempt(_) => panic!("nobody is exempt"),
        }
    }
    assert_eq!((passed, refused), (100, 400));
    assert!(both.try_check([key(1), key(2)], 1, SECOND).is_some_and(|verdict| !verdict.passes()));
    assert!(store.counts().round_trips - trips < 100, "{:?}", store.counts());
    // What was refused was not charged to the wide one: beside the lease that is held, all is there.
    let other = SharedLimits::new([wide, build("other", 1_000)]).unwrap();
    let mut rest = 0;
    while other.check([key(1), key(2)], 1, SECOND).await.passes() {
        rest += 1;
    }
    assert_eq!(rest, 900);
}

/// The states of a combination are in one slot, also for what gives charges back.
#[tokio::test]
async fn a_combination_is_refunded_and_cleared() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    let keys = [key(1), key(2), key(3)];
    let limits =
        SharedLimits::new(["a", "b", "c"].map(|name| strict(&store, name, Quota::per_hour(2)))).unwrap();
    let AllVerdict::Admitted(standings) = limits.check(keys, 2, SECOND).await else {
        panic!("all have room")
    };
    assert!(!limits.check(keys, 1, SECOND).await.passes());
    assert!(limits.refund(&standings, SECOND).await);
    assert!(limits.check(keys, 2, SECOND).await.passes());
    assert!(limits.clear(keys, SECOND).await);
    assert!(limits.check(keys, 2, SECOND).await.passes());
    assert!(!limits.check(keys, 1, SECOND).await.passes());
}

/// A server may move a check between its threads.
#[tokio::test]
async fn checks_are_send() {
    fn sent<T: Send>(checks: T) -> T {
        checks
    }
    let server = tollgate_redis::Server::single("redis://127.0.0.1:1");
    let store = tollgate_redis::Store::builder(server, &crate::support::KEYER).build().unwrap();
    let limiter = strict(&store, "a", QUOTAS[0]);
    assert!(sent(limiter.check(key(1), 1, SECOND)).await.passes());
    let limits = SharedLimits::new([limiter]).unwrap();
    assert!(sent(limits.check([key(1)], 1, SECOND)).await.passes());
}

#[tokio::test]
async fn limits_of_two_stores_are_no_combination() {
    let Some(server) = TestServer::start(&[]) else { return };
    let (one, two) = (connected(node(&server)).await, connected(node(&server)).await);
    let limiters = [strict(&one, "a", QUOTAS[0]), strict(&two, "a", QUOTAS[1])];
    assert!(matches!(SharedLimits::new(limiters), Err(StoreError::TwoStores)));
}
