//! Nodes that lease from one budget: what all of them admit together is never more than one limiter would.

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{Account, Basis, Key, Nanos, Quota, Reason, Verdict};
use tollgate_redis::{SharedLimiter, Store, TimeSource};

use crate::support::{SECOND, TestServer, connected, key, node};

const NODES: u32 = 3;

fn quotas() -> impl Strategy<Value = Quota> {
    (prop_oneof![1_u32..30, 30_u32..3_000], 1_000_u64..100_000, 0..3_u8).prop_map(|(limit, seconds, kind)| {
        let quota = Quota::new(limit, Nanos::from_secs(seconds));
        match kind {
            0 => quota,
            1 => quota.sliding(),
            _ => quota.burst(limit.div_ceil(2)),
        }
    })
}

/// Which node, how many requests at once of which cost, and how many thousandths of the window pass before.
fn bursts() -> impl Strategy<Value = Vec<(usize, u32, u32, u64)>> {
    let passes = prop_oneof![10 => 0..100_u64, 2 => 100..1_500_u64, 1 => Just(1_000_u64)];
    vec((0..NODES as usize, 1..40_u32, prop_oneof![5 => Just(1_u32), 1 => 1..5_u32], passes), 1..40)
}

async fn stores(server: &TestServer) -> Vec<Store> {
    let mut stores = Vec::new();
    for number in 0..NODES {
        stores.push(connected(node(server).nodes(NODES).node(format!("node-{number}"))).await);
    }
    stores
}

/// Decides all requests, each by a node; what was admitted, in its order.
async fn admitted(
    limiters: &[SharedLimiter],
    caller: Key,
    bursts: &[(usize, u32, u32, u64)],
) -> Vec<(Nanos, u32)> {
    let window = limiters[0].quota().window().0;
    let (mut now, mut admitted) = (1_764_000_000_000_000_000, Vec::new());
    for &(node, requests, cost, passes) in bursts {
        now += window / 1_000 * passes;
        for _ in 0..requests {
            // Some time passes between two requests too.
            now += window / 100_000;
            if limiters[node].check(caller, cost, Nanos(now)).await.passes() {
                admitted.push((Nanos(now), cost));
            }
        }
    }
    admitted
}

#[test]
fn all_that_nodes_admit_one_limiter_would_have_admitted() {
    let Some(server) = TestServer::start(&[]) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stores = runtime.block_on(stores(&server));
    let config = ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() };
    let callers = std::cell::Cell::new(1 << 32);
    proptest!(config, |(quota in quotas(), bursts in bursts(), largest in prop_oneof![1_u32..20, Just(1_024)])| {
        callers.set(callers.get() + 1);
        let caller = key(callers.get());
        let build = |store: &Store| store.limiter("l", quota).capacity(256).largest_lease(largest).build().unwrap();
        let limiters: Vec<SharedLimiter> = stores.iter().map(build).collect();
        let admitted = runtime.block_on(admitted(&limiters, caller, &bursts));
        let account = Account::new(quota).unwrap();
        let mut state = None;
        for (now, cost) in admitted {
            let (after, verdict) = account.charge(caller, state, now, cost);
            prop_assert!(verdict.passes(), "{quota:?}: a request of {cost} at {now:?} is one too many");
            state = after;
        }
    });
    let leased: u64 = stores.iter().map(|store| store.counts().spent).sum();
    assert!(leased > 10_000, "leases were used: {leased}");
    assert!(server.lives().iter().all(|&(_, life)| life > 0), "{:?}", server.lives());
}

#[test]
fn a_lease_of_one_decides_as_memory_does() {
    let Some(server) = TestServer::start(&[]) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stores = runtime.block_on(stores(&server));
    let config = ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() };
    let callers = std::cell::Cell::new(2 << 32);
    proptest!(config, |(quota in quotas(), bursts in bursts())| {
        callers.set(callers.get() + 1);
        let caller = key(callers.get());
        let build = |store: &Store| store.limiter("l", quota).capacity(256).largest_lease(1).build().unwrap();
        let limiters: Vec<SharedLimiter> = stores.iter().map(build).collect();
        let account = Account::new(quota).unwrap();
        let (mut now, mut state) = (1_764_000_000_000_000_000, None);
        for &(node, requests, cost, passes) in &bursts {
            now += quota.window().0 / 1_000 * passes;
            for _ in 0..requests {
                now += quota.window().0 / 100_000;
                let (after, expected) = account.charge(caller, state, Nanos(now), cost);
                state = after;
                match (runtime.block_on(limiters[node].check(caller, cost, Nanos(now))), expected) {
                    // A refusal that is remembered tells its wait to a tick of the memory.
                    (Verdict::Refused(told), Verdict::Refused(exact)) => {
                        prop_assert_eq!((told.limit, told.reason), (exact.limit, exact.reason));
                        let late = told.retry_after.saturating_sub(exact.retry_after);
                        prop_assert!(told.retry_after >= exact.retry_after || told.retry_after == Nanos::MAX);
                        prop_assert!(late.0 <= quota.window().0 / 500, "{told:?} for {exact:?}");
                    }
                    (told, exact) => prop_assert_eq!(told, exact),
                }
            }
        }
    });
}

/// With GCRA a node that saves what it was lent, until the others have used what time has given back, has nothing more
/// than the schedule has room for; also if it was lent more meanwhile.
#[tokio::test]
async fn credit_that_is_saved_fades() {
    let Some(server) = TestServer::start(&[]) else { return };
    let stores = stores(&server).await;
    // A request in 100 s, 3,000 at once.
    let quota = Quota::new(3_000, Nanos::from_secs(300_000)).burst(3_000);
    let account = Account::new(quota).unwrap();
    for (caller, saved_for, lent_more) in [(1, 10_000, false), (2, 12_000, true)] {
        let limiters: Vec<SharedLimiter> =
            stores.iter().map(|store| store.limiter("saved", quota).capacity(256).build().unwrap()).collect();
        let (mut now, mut state) = (Nanos::from_secs(1_764_000_000), None);
        let mut admits = async |node: usize, cost: u32, now: Nanos| {
            let passes = limiters[node].check(key(caller), cost, now).await.passes();
            if passes {
                let (after, verdict) = account.charge(key(caller), state, now, cost);
                assert!(verdict.passes(), "node {node}, caller {caller}: one too many");
                state = after;
            }
            passes
        };
        let before = stores[0].counts().unspent();
        for _ in 0..65 {
            assert!(admits(0, 1, now).await);
        }
        let saved = u32::try_from(stores[0].counts().unspent() - before).unwrap();
        assert!(saved > 40, "{saved}");
        if lent_more {
            assert!(admits(0, saved + 1, now).await);
        }
        now = now.saturating_add(Nanos::from_secs(saved_for));
        while admits(1, 1, now).await {}
        while admits(0, 1, now).await {}
    }
}

/// Leases grow while they are spent, answers say what they rest on, and what is held is a twentieth of the limit at most.
#[tokio::test]
async fn a_busy_caller_costs_few_round_trips() {
    let Some(server) = TestServer::start(&[]) else { return };
    let stores = stores(&server).await;
    let limiters: Vec<_> = stores
        .iter()
        .map(|store| store.limiter("busy", Quota::per_hour(60_000)).capacity(256).build().unwrap())
        .collect();
    let (mut passed, mut leased) = (0, 0);
    let before: u64 = stores.iter().map(|store| store.counts().round_trips).sum();
    for request in 0..60_000_usize {
        match limiters[request % 3].check(key(1), 1, SECOND).await {
            Verdict::Admitted(standing) => {
                passed += 1;
                leased += u32::from(standing.basis == Basis::Leased);
                assert!(standing.remaining < 60_000 && standing.receipt.cost() == 1);
            }
            verdict => panic!("{verdict:?} to request {request}"),
        }
        let held: u64 = stores.iter().map(|store| store.counts().unspent()).sum();
        assert!(held <= 60_000 / 20, "{held}");
    }
    let trips = stores.iter().map(|store| store.counts().round_trips).sum::<u64>() - before;
    assert!(trips * 50 < 60_000, "{trips} round trips for 60,000 requests");
    assert_eq!((passed, passed - leased <= 60_000 / 50), (60_000, true));

    // The rest is refused, without another round trip but the first of each node.
    for _ in 0..1_000 {
        for limiter in &limiters {
            let Verdict::Refused(refusal) = limiter.check(key(1), 1, SECOND).await else {
                panic!("one too many")
            };
            assert_eq!(refusal.reason, Reason::OverLimit);
        }
    }
    let refusals = stores.iter().map(|store| store.counts().round_trips).sum::<u64>() - before - trips;
    assert_eq!(refusals, 3);
}

#[tokio::test]
async fn a_refund_of_leased_credit_can_be_spent_again() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    let limiter = store.limiter("refunds", Quota::per_hour(100)).capacity(256).build().unwrap();
    let (mut passed, mut refunded) = (0, [0, 0]);
    while let Verdict::Admitted(standing) = limiter.check(key(1), 1, SECOND).await {
        passed += 1;
        if passed % 10 == 0 {
            assert!(limiter.refund(&standing, SECOND).await);
            refunded[usize::from(standing.basis == Basis::Leased)] += 1;
        }
    }
    assert_eq!(passed, 100 + refunded[0] + refunded[1]);
    assert!(refunded[0] > 0 && refunded[1] > 0, "both kinds were refunded: {refunded:?}");

    // A cleared caller has everything again, and a node that remembers a refusal learns of it.
    assert!(limiter.try_check(key(1), 1, SECOND).is_some_and(|verdict| !verdict.passes()));
    assert!(limiter.clear(key(1), SECOND).await);
    let mut again = 0;
    while limiter.check(key(1), 1, SECOND).await.passes() {
        again += 1;
    }
    assert_eq!(again, 100);
}

/// Callers of whom nothing is known here, many at once: they are asked about together, and each by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_node_asks_about_many_callers_at_once() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server).time(TimeSource::Server)).await;
    let kinds = [Quota::per_hour(3), Quota::per_day(3).sliding(), Quota::per_hour(3).burst(3)];
    let limiters = kinds.map(|quota| store.limiter("many", quota).capacity(4_096).build().unwrap());
    let before = store.counts().round_trips;
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..1_000 {
        for limiter in &limiters {
            let limiter = limiter.clone();
            tasks.spawn(async move {
                let mut passed = 0;
                while limiter.check(key(caller), 1, SECOND).await.passes() {
                    passed += 1;
                }
                passed
            });
        }
    }
    assert_eq!(tasks.join_all().await, vec![3; 3_000]);
    let counts = store.counts();
    assert_eq!(counts.in_outage, 0);
    assert!((counts.round_trips - before) * 10 < counts.by_store, "{counts:?}");
    assert!(server.lives().iter().all(|&(_, life)| life > 0), "{:?}", server.lives());
}

/// Many requests of one new caller at once: one asks, and the limit passes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_one_caller_ask_one_after_the_other() {
    let Some(server) = TestServer::start(&[]) else { return };
    let stores = stores(&server).await;
    for (round, limit) in (0..20).zip([1_u32, 7, 50, 300].into_iter().cycle()) {
        let before: u64 = stores.iter().map(|store| store.counts().round_trips).sum();
        let mut tasks = tokio::task::JoinSet::new();
        for store in &stores {
            let limiter = store.limiter("crowd", Quota::per_hour(limit)).capacity(256).build().unwrap();
            for _ in 0..200 {
                let limiter = limiter.clone();
                tasks.spawn(async move { limiter.check(key(round), 1, SECOND).await.passes() });
            }
        }
        let passed = tasks.join_all().await.into_iter().filter(|&passed| passed).count();
        let trips = stores.iter().map(|store| store.counts().round_trips).sum::<u64>() - before;
        assert!(passed <= limit as usize, "{passed} of {limit}");
        // What one node holds, another may have been refused for; a tenth at most, with requests under way.
        assert!(passed * 10 >= limit.min(600) as usize * 9, "{passed} of {limit}");
        assert!(trips < 150, "{trips} round trips for 600 requests, a limit of {limit}");
    }
}

/// One asks for those that wait with it, and for no more than they can spend.
#[tokio::test]
async fn nothing_is_asked_for_that_nobody_can_spend() {
    let Some(server) = TestServer::start(&[]) else { return };
    let stores = stores(&server).await;
    let quota = Quota::per_hour(60_000);
    for (caller, costs) in (1..).map(key).zip([[3_000, 1, 1, 1], [5_000; 4], [3_000; 4]]) {
        let limiters: Vec<SharedLimiter> =
            stores.iter().map(|store| store.limiter("costs", quota).capacity(256).build().unwrap()).collect();
        let one = |cost| limiters[0].check(caller, cost, SECOND);
        let [a, b, c, d] = costs;
        let (a, b, c, d) = tokio::join!(one(a), one(b), one(c), one(d));
        assert!([a, b, c, d].iter().all(Verdict::passes));
        let Verdict::Admitted(standing) = limiters[1].check(caller, 0, SECOND).await else {
            panic!("nothing passes always")
        };
        let ahead = 60_000 - standing.remaining - costs.iter().sum::<u32>();
        assert!(ahead <= 4, "{ahead} more than {costs:?}");
    }
}
