//! Several limits at once: all or nothing. Abuse 25 and 34.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{
    AllVerdict, BoxedLimiter, Credentials, GlobalLimiter, Key, Keyer, Limit, Nanos, Presented, Quota, Reason,
    Verdict, check_all,
};

const KEYER: Keyer = Keyer::new(*b"a seed for tests");
const NOW: Nanos = Nanos::from_secs(6000);

fn key(caller: u64) -> Key {
    KEYER.bytes(&caller.to_le_bytes())
}

fn limiter(quota: Quota) -> BoxedLimiter {
    BoxedLimiter::with_capacity(quota, 64).unwrap()
}

fn remaining(limiter: &BoxedLimiter, caller: u64) -> u32 {
    limiter.peek(key(caller), NOW).remaining
}

/// A quota of any kind that admits `limit` at once.
fn quotas() -> impl Strategy<Value = Quota> {
    (1u32..12, 1u64..100, 0..4).prop_map(|(limit, seconds, kind)| {
        let window = Nanos::from_secs(seconds);
        match kind {
            0 => Quota::new(limit, window),
            1 => Quota::new(limit, window).sliding(),
            2 => Quota::new(limit, window).burst(limit),
            _ => Quota::at_most(limit + 3).in_any(window).burst(limit),
        }
    })
}

/// Limits that decide together, and the same limits that decide alone: the oracle looks at each, and charges each only
/// if all would pass.
struct Pair {
    together: (BoxedLimiter, BoxedLimiter, GlobalLimiter),
    alone: (BoxedLimiter, BoxedLimiter, BoxedLimiter),
}

/// Everybody's budget, of an oracle that has no unkeyed one.
const EVERYBODY: u64 = u64::MAX;

impl Pair {
    fn new(quotas: [Quota; 3]) -> Self {
        let [first, second, third] = quotas;
        Self {
            together: (limiter(first), limiter(second), GlobalLimiter::try_new(third).unwrap()),
            alone: (limiter(first), limiter(second), limiter(third)),
        }
    }

    /// A caller's own limit, that of its group, and everybody's.
    fn check(&self, caller: u64, now: Nanos, cost: u32) -> AllVerdict<3> {
        let (own, group, everybody) = &self.together;
        let limits = [(own as &dyn Limit, key(caller)), (group, key(caller % 2)), (everybody, key(caller))];
        check_all(limits, Presented::Absent, now, cost)
    }

    /// What each limit alone has left; and if all have enough, what is left of each then.
    fn expected(&self, caller: u64, now: Nanos, cost: u32) -> Result<Vec<u32>, Vec<Nanos>> {
        let alone =
            [(&self.alone.0, key(caller)), (&self.alone.1, key(caller % 2)), (&self.alone.2, key(EVERYBODY))];
        let refused = |&(limiter, key): &(&BoxedLimiter, Key)| limiter.peek(key, now).remaining < cost;
        if alone.iter().any(refused) {
            // A refusal writes nothing, so whoever would refuse may be asked how long.
            let wait =
                |limit: &(&BoxedLimiter, Key)| match limit.0.check_n(limit.1, Presented::Absent, now, cost) {
                    Verdict::Refused(refusal) => refusal.retry_after,
                    other => panic!("{other:?} after a peek that said no"),
                };
            return Err(alone
                .iter()
                .map(|limit| if refused(limit) { wait(limit) } else { Nanos::ZERO })
                .collect());
        }
        let charge =
            |(limiter, key): &(&BoxedLimiter, Key)| match limiter.check_n(*key, Presented::Absent, now, cost)
            {
                Verdict::Admitted(standing) => standing.remaining,
                other => panic!("{other:?} after a peek that said yes"),
            };
        Ok(alone.iter().map(charge).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10_000) })]

    // Abuse 34: what is refused is charged nowhere, or the next answers would differ from the oracle's.
    #[test]
    fn all_or_nothing(
        quotas in [quotas(), quotas(), quotas()],
        trace in vec((0u64..4, prop_oneof![2 => Just(0), 1 => 0u64..40_000], 1u32..6), 1..60),
    ) {
        let pair = Pair::new(quotas);
        let mut now = NOW;
        for (caller, millis, cost) in trace {
            now = now.saturating_add(Nanos::from_millis(millis));
            match (pair.check(caller, now, cost), pair.expected(caller, now, cost)) {
                (AllVerdict::Admitted(standings), Ok(left)) => {
                    let standings: Vec<_> = standings.iter().map(|standing| standing.remaining).collect();
                    prop_assert_eq!(standings, left);
                }
                (AllVerdict::Refused { by, refusal }, Err(waits)) => {
                    // Of those that refuse, the one with the longest wait.
                    prop_assert_eq!(Some(&refusal.retry_after), waits.iter().max());
                    prop_assert_eq!(refusal.retry_after, waits[by]);
                }
                (answered, expected) => prop_assert!(false, "{answered:?}, expected {expected:?}"),
            }
        }
    }
}

/// Abuse 25: a caller that is over its own limit takes nothing of what all share, and learns nothing of it.
#[test]
fn a_caller_over_its_own_limit_uses_up_nobody_elses() {
    let own = limiter(Quota::per_minute(5));
    let everybody = GlobalLimiter::new(Quota::per_minute(12));
    let check = |caller: u64| {
        let limits = [(&own as &dyn Limit, key(caller)), (&everybody, key(caller))];
        check_all(limits, Presented::Absent, NOW, 1)
    };
    for request in 0..1000 {
        match check(1) {
            AllVerdict::Refused { by, refusal } => {
                assert!(request >= 5);
                assert_eq!((by, refusal.reason, refusal.limit), (0, Reason::OverLimit, 5));
            }
            verdict => assert!(request < 5 && verdict.passes()),
        }
    }
    assert_eq!((0..1000).filter(|_| check(2).passes()).count(), 5);
    // Two are left of everybody's twelve; who is refused then keeps its own.
    assert_eq!((0..1000).filter(|_| check(3).passes()).count(), 2);
    assert!(matches!(check(4), AllVerdict::Refused { by: 1, .. }));
    assert_eq!((remaining(&own, 3), remaining(&own, 4)), (3, 5));
}

/// Abuse 34: both ways round, and for costs that never fit.
#[test]
fn a_refused_request_is_charged_nowhere() {
    let (second, minute) = (limiter(Quota::per_second(10)), limiter(Quota::per_minute(3)));
    for flip in [false, true] {
        let check = |cost| {
            let mut limits = [(&second as &dyn Limit, key(1)), (&minute as &dyn Limit, key(1))];
            if flip {
                limits.reverse();
            }
            check_all(limits, Presented::Absent, NOW, cost)
        };
        assert!(check(3).passes());
        for cost in [1, 4, 11, u32::MAX] {
            assert!(!check(cost).passes());
            assert_eq!((remaining(&second, 1), remaining(&minute, 1)), (7, 0), "{cost}");
        }
        assert!(check(0).passes());
        assert!(second.clear(key(1), NOW) && minute.clear(key(1), NOW));
    }
    // A limit that has counted the same request before is not a second budget.
    let twice = [(&second as &dyn Limit, key(2)), (&second as &dyn Limit, key(2))];
    assert!(!check_all(twice, Presented::Absent, NOW, 6).passes());
    assert_eq!(remaining(&second, 2), 10, "what was charged first is given back");
    assert!(check_all(twice, Presented::Absent, NOW, 5).passes());
    assert_eq!(remaining(&second, 2), 0);
}

#[test]
fn each_limit_counts_what_was_presented_and_one_the_refusal() {
    let credentials = Credentials::<1>::new().with("edge", b"sixteen or more bytes").unwrap();
    let (own, everybody) = (limiter(Quota::per_minute(1)), GlobalLimiter::new(Quota::per_minute(9)));
    let limits = [(&own as &dyn Limit, key(1)), (&everybody as &dyn Limit, key(1))];
    let exempt = check_all(limits, credentials.verify(Some(b"sixteen or more bytes")), NOW, 100);
    assert!(matches!(exempt, AllVerdict::Exempt(_)) && exempt.passes());
    assert_eq!(remaining(&own, 1), 1);
    assert!(check_all(limits, credentials.verify(Some(b"another one")), NOW, 1).passes());
    assert!(!check_all(limits, Presented::Absent, NOW, 1).passes());
    let (own, everybody) = (own.counts(), everybody.counts());
    assert_eq!((own.exempt, own.forged, own.refused), (1, 1, 1));
    assert_eq!((everybody.exempt, everybody.forged, everybody.refused), (1, 1, 0));
}

/// Threads that charge a caller's limit, its group's and, twice, everybody's: at the end there is room for the first of
/// the two only, so that whoever comes must undo what it charged the others. No limit is ever exceeded, and what was
/// undone is there again, no less and no more.
#[test]
fn no_limit_is_exceeded_by_threads_that_undo() {
    const ROUNDS: u64 = 300;
    const REQUESTS: u64 = 1600;
    const THREADS: u64 = 16;
    const CALLERS: usize = 8;
    const EACH: u32 = 10;
    const GROUP: u32 = 30;
    const ALL: u32 = 101;
    let mut full = 0;
    for round in 0..ROUNDS {
        let kind = |limit| match round % 3 {
            0 => Quota::per_minute(limit),
            1 => Quota::per_minute(limit).sliding(),
            _ => Quota::per_minute(limit).burst(limit),
        };
        let (own, group) = (limiter(kind(EACH)), limiter(kind(GROUP)));
        let everybody = GlobalLimiter::try_new(kind(ALL)).unwrap();
        let admitted: [AtomicU32; CALLERS] = Default::default();
        let next = AtomicU64::new(0);
        let work = || {
            loop {
                let request = next.fetch_add(1, Relaxed);
                if request >= REQUESTS {
                    return;
                }
                let which = usize::try_from(request * 7 / 3).unwrap() % CALLERS;
                let caller = which as u64;
                let limits: [(&dyn Limit, Key); 4] = [
                    (&own, key(caller)),
                    (&group, key(100 + caller % 2)),
                    (&everybody, key(caller)),
                    (&everybody, key(caller)),
                ];
                let passes = check_all(limits, Presented::Absent, NOW, 1).passes();
                admitted[which].fetch_add(u32::from(passes), Relaxed);
            }
        };
        thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));

        // Nobody is at work any more, so each limit holds what was admitted, and nothing of what was refused.
        let admitted = admitted.map(AtomicU32::into_inner);
        for (caller, admitted) in (0..).zip(admitted) {
            assert!(admitted <= EACH, "{admitted} of a caller's {EACH}");
            assert_eq!(EACH - remaining(&own, caller), admitted, "a charge that was lost, or kept");
        }
        for which in 0..2 {
            let admitted: u32 = admitted.iter().skip(which).step_by(2).sum();
            assert!(admitted <= GROUP, "{admitted} of a group's {GROUP}");
            assert_eq!(
                GROUP - remaining(&group, 100 + which as u64),
                admitted,
                "a charge that was lost, or kept"
            );
        }
        let total: u32 = admitted.iter().sum();
        assert!(2 * total <= ALL, "twice {total} of everybody's {ALL}");
        assert!(everybody.check_n(Presented::Absent, NOW, ALL - 2 * total).passes(), "a charge was kept");
        assert!(!everybody.check(Presented::Absent, NOW).passes(), "a charge was lost");
        full += u32::from(total == ALL / 2);
    }
    assert!(full > 0, "everybody's limit never ran out, so nothing had to be undone");
}
