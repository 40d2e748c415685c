//! The same requests, decided in memory by the core and in the server by a script: the same answers.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{Account, Key, Nanos, Quota, Verdict};
use tollgate_redis::{SharedLimiter, Store};

use crate::support::{TestServer, connected, key, node};

fn quotas() -> impl Strategy<Value = Quota> {
    let windows = prop_oneof![
        2_048_u64..1_000_000,
        1_000_000_u64..100_000_000_000,
        Just(60_000_000_000),
        100_000_000_000_u64..(1 << 62),
    ];
    let limits = prop_oneof![3 => 1_u32..12, 1 => 1_u32..2_000, 1 => Just(60_000)];
    (limits, windows, 0..4_u8).prop_map(|(limit, window, kind)| {
        let window = Nanos(window);
        match kind {
            0 => Quota::new(limit, window),
            1 => Quota::new(limit, window).sliding(),
            2 => Quota::new(limit, window).burst(limit.div_ceil(2)),
            _ => Quota::at_most(limit + 1).in_any(window),
        }
    })
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Costs so many thousandths of the limit.
    Check(u32),
    Refund,
    Clear,
}

/// Steps, and by how many thousandths of the window the clock moves before each: also back.
fn steps() -> impl Strategy<Value = Vec<(Step, i64)>> {
    let step = prop_oneof![10 => (0..500_u32).prop_map(Step::Check), 1 => Just(Step::Refund), 1 => Just(Step::Clear)];
    vec(
        (step, prop_oneof![10 => 0..300_i64, 1 => Just(1_000), 1 => 900..2_500_i64, 1 => -1_500..0_i64]),
        1..40,
    )
}

fn moved(now: Nanos, by: i64, window: Nanos) -> Nanos {
    let by = i128::from(by) * i128::from(window.0) / 1_000;
    Nanos(u64::try_from((i128::from(now.0) + by).clamp(0, i128::from(u64::MAX))).unwrap())
}

/// Decides all steps by the core and by the limiter.
async fn compare(
    limiter: &SharedLimiter,
    caller: Key,
    start: Nanos,
    steps: &[(Step, i64)],
) -> Result<(), TestCaseError> {
    let account = Account::new(limiter.quota()).unwrap();
    let (mut state, mut now, mut last) = (None, start, None);
    for &(step, by) in steps {
        now = moved(now, by, limiter.quota().window());
        match step {
            Step::Check(part) => {
                let cost = u32::try_from(u64::from(part) * u64::from(account.limit()) / 1_000).unwrap()
                    + u32::from(part % 3 > 0);
                let (after, expected) = account.charge(caller, state, now, cost);
                state = after;
                let verdict = limiter.check(caller, cost, now).await;
                prop_assert_eq!(verdict, expected, "{:?} at {:?}", limiter.quota(), now);
                if let Verdict::Admitted(standing) = verdict {
                    last = Some(standing);
                }
            }
            Step::Refund => {
                let Some(standing) = last.take() else { continue };
                let after = state.and_then(|state| account.refund(state, &standing.receipt, now));
                let counts = after.is_some() && standing.receipt.cost() > 0;
                prop_assert_eq!(limiter.refund(&standing, now).await, counts);
                if counts {
                    state = after;
                }
            }
            Step::Clear => {
                let after = state.map(|state| account.cleared(state, now));
                prop_assert_eq!(limiter.clear(caller, now).await, after != state);
                state = after;
            }
        }
    }
    Ok(())
}

fn run(cases: u32, limiter: impl Fn(&Store, Quota) -> SharedLimiter) {
    let Some(server) = TestServer::start(&[]) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(connected_to(&server));
    let config = ProptestConfig { failure_persistence: None, cases, ..ProptestConfig::default() };
    let callers = Cell::new(0);
    let starts = prop_oneof![0_u64..u64::MAX / 4, Just(1_764_000_000_000_000_000)];
    proptest!(config, |(quota in quotas(), start in starts, steps in steps())| {
        callers.set(callers.get() + 1);
        let caller = key(callers.get());
        let _guard = runtime.enter();
        let limiter = limiter(&store, quota);
        runtime.block_on(compare(&limiter, caller, Nanos(start), &steps))?;
    });
    // Whatever was done, nothing is kept for ever.
    assert!(server.lives().iter().all(|&(_, life)| life > 0), "{:?}", server.lives());
}

async fn connected_to(server: &TestServer) -> Store {
    connected(node(server)).await
}

#[test]
fn scripts_decide_as_the_core_does() {
    run(400, |store, quota| store.limiter("p", quota).capacity(1_024).strict().build().unwrap());
}
