//! The other rules and operations of the shipped table under the loom model checker; `tests/loom.rs` has the protocol
//! itself, and its flaws.

#![cfg(tollgate_loom)]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use loom::sync::Arc;
use loom::thread;
use tollgate::{
    AllVerdict, BoxedInFlight, BoxedLimiter, Key, Nanos, Overflow, Presented, Quota, Receipt, Verdict,
    check_all,
};

/// 2,048 ticks of a fixed window of one nanosecond each.
const WINDOW: u64 = 2048;
const START: Nanos = Nanos(10_240);

/// The caller `tag`, whose first line is `line` of two and whose home slot is `home` of two.
fn caller(tag: u64, line: u64, home: u64) -> Key {
    Key::from_fingerprint(tag << 37 | line << 1 | home)
}

fn fresh() -> Key {
    caller(1000, 0, 0)
}

fn limiter(quota: Quota) -> BoxedLimiter {
    BoxedLimiter::with_capacity(quota, 4).unwrap()
}

fn admit(limiter: &BoxedLimiter, key: Key, now: Nanos) -> Option<Receipt> {
    match limiter.check(key, Presented::Absent, now) {
        Verdict::Admitted(standing) => Some(standing.receipt),
        _ => None,
    }
}

fn passes(limiter: &BoxedLimiter, key: Key, now: Nanos) -> u32 {
    u32::from(admit(limiter, key, now).is_some())
}

fn left(limiter: &BoxedLimiter, key: Key, now: Nanos) -> u32 {
    (0..10).map(|_| passes(limiter, key, now)).sum()
}

fn model(preemptions: Option<usize>, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 100_000;
    builder.check(body);
}

/// Runs the pieces of work on a thread each; what each gives.
fn race<T: 'static, S: 'static>(shared: S, work: &[fn(&S) -> T]) -> (Vec<T>, S) {
    let shared = Arc::new(shared);
    let threads: Vec<_> = work
        .iter()
        .map(|&work| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || work(&shared))
        })
        .collect();
    let results = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let Ok(shared) = Arc::try_unwrap(shared) else { panic!("a thread still holds it") };
    (results, shared)
}

/// `[ a stranger that is over at `late`, empty | two strangers ]`: who reads `early` claims the second slot, who reads
/// `late` the first.
fn with_a_slot_that_ends(quota: Quota, early: Nanos, then: Nanos) -> BoxedLimiter {
    let limiter = limiter(quota);
    assert_eq!(passes(&limiter, caller(1, 0, 0), then), 1);
    assert_eq!(passes(&limiter, caller(2, 1, 0), early), 1);
    assert_eq!(passes(&limiter, caller(3, 1, 1), early), 1);
    limiter
}

/// One request a window: an interval of 1,024 ticks of two nanoseconds.
fn gcra() -> Quota {
    Quota::new(1, Nanos(WINDOW)).burst(1)
}

const EARLY: Nanos = Nanos(START.0 + WINDOW - 2);
const LATE: Nanos = Nanos(START.0 + WINDOW);

#[test]
fn gcra_threads_whose_clocks_disagree_insert_one_caller() {
    model(None, || {
        let early: fn(&BoxedLimiter) -> u32 = |limiter| passes(limiter, fresh(), EARLY);
        let late: fn(&BoxedLimiter) -> u32 = |limiter| passes(limiter, fresh(), LATE);
        let (admitted, limiter) = race(with_a_slot_that_ends(gcra(), EARLY, START), &[early, late]);
        let admitted: u32 = admitted.iter().sum();
        assert!(admitted == 1, "{admitted} passed, and the burst is 1");
        assert_eq!(left(&limiter, fresh(), LATE), 0);
    });
}

#[test]
fn gcra_two_threads_charge_one_word() {
    model(None, || {
        let limiter = limiter(Quota::new(1, Nanos(WINDOW)).burst(3));
        assert_eq!(passes(&limiter, fresh(), START), 1);
        let work: fn(&BoxedLimiter) -> u32 = |limiter| passes(limiter, fresh(), START);
        let (admitted, limiter) = race(limiter, &[work, work]);
        assert_eq!((admitted.iter().sum::<u32>(), left(&limiter, fresh(), START)), (2, 0));
    });
}

#[test]
fn sliding_two_threads_insert_one_caller() {
    // Windows are the clock's own: a stranger of the window before the last is over in this one.
    const NOW: Nanos = Nanos(10 * WINDOW);
    model(None, || {
        let quota = Quota::new(1, Nanos(WINDOW)).sliding();
        let before: fn(&BoxedLimiter) -> u32 = |limiter| passes(limiter, fresh(), Nanos(NOW.0 - 1));
        let after: fn(&BoxedLimiter) -> u32 = |limiter| passes(limiter, fresh(), NOW);
        let strangers = with_a_slot_that_ends(quota, Nanos(NOW.0 - 1), Nanos(NOW.0 - 2 * WINDOW));
        let (admitted, limiter) = race(strangers, &[before, after]);
        assert_eq!((admitted.iter().sum::<u32>(), left(&limiter, fresh(), NOW)), (1, 0));
    });
}

#[test]
fn a_full_table_of_debts_is_inherited_from_once() {
    model(Some(4), || {
        let limiter = limiter(Quota::new(1, Nanos(WINDOW)).burst(4));
        for slot in 0..4 {
            assert_eq!(passes(&limiter, caller(slot + 1, slot / 2, slot % 2), START), 1);
        }
        let work: fn(&BoxedLimiter) -> u32 = |limiter| passes(limiter, fresh(), START);
        let stranger: fn(&BoxedLimiter) -> u32 = |limiter| {
            passes(limiter, caller(500, 0, 1), START);
            0
        };
        let (admitted, limiter) = race(limiter, &[work, work, stranger]);
        let admitted = admitted.iter().sum::<u32>();
        assert!(admitted + left(&limiter, fresh(), START) <= 3, "one request of the four was inherited");
    });
}

#[test]
fn refunds_race_with_insertions_and_charges() {
    model(Some(4), || {
        let limiter = with_a_slot_that_ends(Quota::new(1, Nanos(WINDOW)), EARLY, START);
        let refunding: fn(&BoxedLimiter) -> u32 = |limiter| match admit(limiter, fresh(), EARLY) {
            Some(receipt) => u32::from(!limiter.refund(receipt, EARLY)),
            None => 0,
        };
        let keeping: fn(&BoxedLimiter) -> u32 = |limiter| passes(limiter, fresh(), LATE);
        let (kept, limiter) = race(limiter, &[refunding, keeping]);
        let kept: u32 = kept.iter().sum();
        // What was admitted and not given back is counted, and nothing else.
        assert!(kept <= 1, "{kept} passed for good, and the limit is 1");
        assert_eq!(kept + left(&limiter, fresh(), LATE), 1);
    });
}

#[test]
fn requests_in_flight_never_exceed_the_limit() {
    model(Some(4), || {
        let limit = BoxedInFlight::with_capacity(1, 4).unwrap();
        let enter: fn(&BoxedInFlight) -> u32 = |limit| match limit.enter(fresh(), Presented::Absent, START) {
            Verdict::Admitted(standing) => {
                // Nobody else is inside.
                assert!(limit.under_way(fresh()) == 1, "two are under way");
                assert!(limit.release(standing.receipt), "an entry was lost");
                1
            }
            _ => 0,
        };
        let (admitted, limit) = race(limit, &[enter, enter]);
        assert!(admitted.iter().sum::<u32>() >= 1, "one of them could enter at once");
        assert_eq!(limit.under_way(fresh()), 0);
    });
}

// A stranger leaves the home slot while two requests of one caller come and go. No limit is reached: what was entered is
// released, also where another thread's claim stands before the charge.
#[test]
fn every_release_counts() {
    model(Some(4), || {
        let limit = BoxedInFlight::with_capacity(10, 4).unwrap();
        let enter = |limit: &BoxedInFlight, key| match limit.enter(key, Presented::Absent, START) {
            Verdict::Admitted(standing) => standing.receipt,
            other => panic!("{other:?}"),
        };
        let stranger = enter(&limit, caller(7, 0, 0));
        let come_and_go = move |limit: &BoxedInFlight| limit.release(enter(limit, caller(1000, 0, 0)));
        let limit = Arc::new(limit);
        let other = {
            let limit = Arc::clone(&limit);
            thread::spawn(move || come_and_go(&limit))
        };
        assert!(limit.release(stranger));
        let released = (come_and_go(&limit), other.join().unwrap(), limit.under_way(caller(1000, 0, 0)));
        assert_eq!(released, (true, true, 0), "released, released, still under way");
    });
}

#[test]
fn several_limits_are_charged_all_or_nothing() {
    model(Some(4), || {
        let limits = (limiter(Quota::new(2, Nanos(WINDOW))), limiter(Quota::new(1, Nanos(WINDOW))));
        let both: fn(&(BoxedLimiter, BoxedLimiter)) -> u32 = |(wide, narrow)| {
            let limits = [(wide as _, fresh()), (narrow as _, fresh())];
            u32::from(matches!(check_all(limits, Presented::Absent, START, 1), AllVerdict::Admitted(_)))
        };
        let (admitted, (wide, narrow)) = race(limits, &[both, both]);
        let admitted = admitted.iter().sum::<u32>();
        assert!(admitted == 1, "{admitted} passed, and the narrow limit is 1");
        // A refused request was charged nowhere.
        assert_eq!((left(&wide, fresh(), START), left(&narrow, fresh(), START)), (1, 0));
    });
}

#[test]
fn a_forgotten_caller_never_has_two_words() {
    model(Some(4), || {
        let limiter = BoxedLimiter::with_capacity(gcra(), 4).unwrap().with_overflow(Overflow::Forget);
        for slot in 0..4 {
            assert_eq!(passes(&limiter, caller(slot + 1, slot / 2, slot % 2), START), 1);
        }
        let work: fn(&BoxedLimiter) -> u32 = |limiter| passes(limiter, fresh(), START);
        let (admitted, limiter) = race(limiter, &[work, work]);
        let admitted = admitted.iter().sum::<u32>();
        assert!(admitted + left(&limiter, fresh(), START) <= 1, "more than the burst passed");
    });
}
