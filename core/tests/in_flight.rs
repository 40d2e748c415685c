//! The in-flight limit: never more than n under way, all of them released, and nobody displaced.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::thread;

use hashbrown::HashMap;
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{
    Basis, BoxedInFlight, Credentials, FixedInFlight, Key, Keyer, Nanos, Presented, QuotaError, Reason,
    Receipt, Standing, Verdict,
};

const KEYER: Keyer = Keyer::new(*b"a seed for tests");
const NOW: Nanos = Nanos::from_secs(1000);

fn key(caller: u64) -> Key {
    KEYER.bytes(&caller.to_le_bytes())
}

fn in_flight(limit: u32, capacity: usize) -> BoxedInFlight {
    BoxedInFlight::with_capacity(limit, capacity).unwrap()
}

fn enter(limit: &BoxedInFlight, caller: u64) -> Option<Standing> {
    match limit.enter(key(caller), Presented::Absent, NOW) {
        Verdict::Admitted(standing) => Some(standing),
        Verdict::Refused(refusal) => {
            assert!(refusal.retry_after > Nanos::ZERO);
            None
        }
        Verdict::Exempt(_) => panic!("nobody is exempt here"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10_000) })]

    // Whatever the clock says: nothing passes with time.
    #[test]
    fn agrees_with_a_map_of_counts(
        limit in prop_oneof![1u32..5, Just(16_777_215)],
        trace in vec((0u64..6, any::<bool>(), any::<prop::sample::Index>(), any::<u64>()), 1..100),
    ) {
        let limiter = in_flight(limit, 64);
        let mut under_way: HashMap<u64, Vec<Receipt>> = HashMap::new();
        for (caller, leave, which, now) in trace {
            let receipts = under_way.entry(caller).or_default();
            if leave && !receipts.is_empty() {
                prop_assert!(limiter.release(receipts.swap_remove(which.index(receipts.len()))));
            } else {
                match limiter.enter(key(caller), Presented::Absent, Nanos(now)) {
                    Verdict::Admitted(standing) => {
                        receipts.push(standing.receipt);
                        prop_assert_eq!(standing.remaining as usize, limit as usize - receipts.len());
                    }
                    verdict => prop_assert!(!verdict.passes() && receipts.len() == limit as usize),
                }
            }
            prop_assert_eq!(limiter.under_way(key(caller)) as usize, receipts.len());
        }
    }
}

/// More threads than a caller may have requests under way enter, stay for a moment and leave.
#[test]
fn sixty_four_threads_never_exceed_the_limit_and_all_leave() {
    const THREADS: u64 = 64;
    const VISITS: u64 = 2000;
    const CALLERS: usize = 4;
    const LIMIT: u32 = 5;
    let limiter = in_flight(LIMIT, 16);
    let inside: [AtomicU32; CALLERS] = Default::default();
    let (refused, most) = (AtomicU64::new(0), AtomicU32::new(0));
    let work = |thread: u64| {
        for visit in 0..VISITS {
            let which = usize::try_from(thread + visit).unwrap() % CALLERS;
            let caller = which as u64;
            let Some(standing) = enter(&limiter, caller) else {
                refused.fetch_add(1, SeqCst);
                continue;
            };
            let inside = &inside[which];
            // Whoever counts itself here has entered and not yet left.
            most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
            if visit % 3 == 0 {
                thread::yield_now();
            }
            inside.fetch_sub(1, SeqCst);
            assert!(limiter.release(standing.receipt));
        }
    };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || work(thread));
        }
    });
    assert!(most.load(SeqCst) <= LIMIT, "{} under way at once", most.load(SeqCst));
    assert!((0..CALLERS as u64).all(|caller| limiter.under_way(key(caller)) == 0));
    assert!(
        (0..CALLERS as u64).all(|caller| (0..LIMIT).all(|_| enter(&limiter, caller).is_some())),
        "all have left"
    );
    assert!(refused.load(SeqCst) > 0, "nobody was ever refused: the test proved nothing");
}

#[test]
fn a_guard_leaves_however_its_request_ends() {
    let limiter = FixedInFlight::<2>::new(1);
    let guard = || limiter.guard(key(1), Presented::Absent, NOW);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _inside = guard().unwrap();
        assert_eq!(limiter.under_way(key(1)), 1);
        panic!("a request goes wrong");
    }));
    assert!(panicked.is_err());
    assert_eq!(limiter.under_way(key(1)), 0);
    let first = guard().unwrap();
    let refusal = guard().unwrap_err();
    assert_eq!((refusal.reason, refusal.limit), (Reason::OverLimit, 1));
    assert_eq!(limiter.under_way(key(1)), 1, "who was refused has nothing to leave");
    drop(first);
    assert_eq!(limiter.under_way(key(1)), 0);
}

#[test]
fn a_service_s_own_request_is_not_under_way() {
    let credentials = Credentials::<1>::new().with("edge", b"sixteen or more bytes").unwrap();
    let limiter = in_flight(1, 16);
    let own = || credentials.verify(Some(b"sixteen or more bytes"));
    let guards: Vec<_> = (0..10).map(|_| limiter.guard(key(1), own(), NOW).unwrap()).collect();
    assert_eq!((limiter.under_way(key(1)), limiter.counts().exempt), (0, 10));
    let forged = limiter.guard(key(1), credentials.verify(Some(b"another one")), NOW).unwrap();
    drop(guards);
    assert_eq!((limiter.under_way(key(1)), limiter.counts().forged), (1, 1));
    drop(forged);
}

/// Sixteen slots and as many callers with requests under way: a seventeenth displaces nobody, and finds room as soon
/// as one has left.
#[test]
fn a_full_table_displaces_nobody() {
    for admit in [false, true] {
        let limiter = if admit { in_flight(2, 16).admit_when_full() } else { in_flight(2, 16) };
        let receipts: Vec<_> = (0..16).map(|caller| enter(&limiter, caller).unwrap().receipt).collect();
        let mut uncounted = None;
        for newcomer in 100..1000 {
            match limiter.enter(key(newcomer), Presented::Absent, NOW) {
                Verdict::Admitted(standing) => {
                    assert!(admit);
                    assert_eq!((standing.basis, standing.receipt.cost()), (Basis::Uncounted, 0));
                    assert!(!limiter.release(standing.receipt), "it was not counted");
                    uncounted = uncounted.or(Some(standing.receipt));
                }
                Verdict::Refused(refusal) => {
                    assert!(!admit);
                    assert_eq!(refusal.reason, Reason::Overflow);
                }
                Verdict::Exempt(_) => panic!("nobody is exempt here"),
            }
            assert_eq!(limiter.under_way(key(newcomer)), 0);
        }
        assert!((0..16).all(|caller| limiter.under_way(key(caller)) == 1), "nobody is displaced");
        let counts = limiter.counts();
        assert_eq!((counts.uncounted, counts.refused_by_overflow), if admit { (900, 0) } else { (0, 900) });
        assert!(limiter.release(receipts[7]));
        assert_eq!(enter(&limiter, 100).unwrap().basis, Basis::Own);
        assert!(uncounted.is_none_or(|receipt| !limiter.release(receipt)), "nor does it release what is");
        assert_eq!(limiter.under_way(key(100)), 1);
        assert!((0..16).all(|caller| limiter.under_way(key(caller)) == u32::from(caller != 7)));
    }
}

/// A receipt is good for once. The second time there is nothing to give back, unless others of the caller are under way,
/// which is why it says "once" in the documentation; never is anybody else's touched or a count below none.
#[test]
fn a_receipt_releases_once() {
    let limiter = in_flight(3, 16);
    let receipt = enter(&limiter, 1).unwrap().receipt;
    let _other = enter(&limiter, 2).unwrap();
    assert!(limiter.release(receipt));
    for _ in 0..5 {
        assert!(!limiter.release(receipt));
    }
    assert_eq!((limiter.under_way(key(1)), limiter.under_way(key(2))), (0, 1));
    assert_eq!((0..5).filter(|_| enter(&limiter, 1).is_some()).count(), 3);
}

#[test]
fn limits_that_do_not_fit_are_refused() {
    assert_eq!(FixedInFlight::<2>::try_new(0).err(), Some(QuotaError::ZeroLimit));
    let largest = 16_777_215;
    assert_eq!(FixedInFlight::<2>::try_new(largest + 1).err(), Some(QuotaError::LimitTooLarge { largest }));
    assert!(FixedInFlight::<2>::try_new(largest).is_ok());
}
