//! The shipped table under the loom model checker, which tries every interleaving and, for relaxed accesses,
//! every value that a thread may see.
//!
//! Run by `ci/loom`: `RUSTFLAGS="--cfg tollgate_loom" cargo test --release -p tollgate --features std --test loom`.

#![cfg(tollgate_loom)]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use loom::sync::Arc;
use loom::thread;
use tollgate::{BoxedLimiter, Flaw, Key, Nanos, Overflow, Presented, Quota};

/// A window of 2,048 ticks of one nanosecond, so that a tick is a nanosecond.
const WINDOW: u64 = 2048;
const START: Nanos = Nanos(10_000);
/// The moment when a window that began at `START` is over, and the one before it.
const LATE: Nanos = Nanos(START.0 + WINDOW);
const EARLY: Nanos = Nanos(LATE.0 - 1);

/// The caller `tag`, whose first line is `line` of two and whose home slot is `home` of two.
fn caller(tag: u64, line: u64, home: u64) -> Key {
    Key::from_fingerprint(tag << 37 | line << 1 | home)
}

/// The caller under watch, at home in the first of the four slots; everybody else has another tag.
fn fresh() -> Key {
    caller(1000, 0, 0)
}

/// Four slots.
fn limiter(limit: u32, overflow: Overflow) -> BoxedLimiter {
    BoxedLimiter::with_capacity(Quota::new(limit, Nanos(WINDOW)), 4).unwrap().with_overflow(overflow)
}

fn passes(limiter: &BoxedLimiter, key: Key, now: Nanos) -> u32 {
    u32::from(limiter.check(key, Presented::Absent, now).passes())
}

/// `[ a stranger whose window is over at LATE, empty | two strangers since EARLY ]`: who reads EARLY claims the
/// second slot, who reads LATE, or comes after a sweep, the first.
fn with_a_slot_that_ends(limit: u32) -> BoxedLimiter {
    let limiter = limiter(limit, Overflow::Inherit);
    assert_eq!(passes(&limiter, caller(1, 0, 0), START), 1);
    assert_eq!(passes(&limiter, caller(2, 1, 0), EARLY), 1);
    assert_eq!(passes(&limiter, caller(3, 1, 1), EARLY), 1);
    limiter
}

/// Four strangers at START, the first of them with a count of 1 and the others with 2.
fn full(limit: u32, overflow: Overflow) -> BoxedLimiter {
    let limiter = limiter(limit, overflow);
    for slot in 0..4 {
        let stranger = caller(slot + 1, slot / 2, slot % 2);
        for _ in 0..=slot.min(1) {
            assert_eq!(passes(&limiter, stranger, START), 1);
        }
    }
    limiter
}

fn model(preemptions: Option<usize>, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 100_000;
    builder.check(body);
}

/// `readings` are the threads' clocks, one request each; what they admit together. The last thread does
/// something else before its request.
fn race(limiter: BoxedLimiter, readings: &[Nanos], before: fn(&BoxedLimiter)) -> (u32, BoxedLimiter) {
    let limiter = Arc::new(limiter);
    let last = readings.len() - 1;
    let threads: Vec<_> = readings
        .iter()
        .enumerate()
        .map(|(number, &now)| {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || {
                if number == last {
                    before(&limiter);
                }
                passes(&limiter, fresh(), now)
            })
        })
        .collect();
    let admitted = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let Ok(limiter) = Arc::try_unwrap(limiter) else { panic!("a thread still holds the limiter") };
    (admitted, limiter)
}

/// Nothing.
fn no(_: &BoxedLimiter) {}

/// Clears the words that are over at LATE.
fn sweep(limiter: &BoxedLimiter) {
    limiter.sweep(LATE);
}

/// Lets a stranger in that no slot is home to.
fn stranger(limiter: &BoxedLimiter) {
    let _ = limiter.check(caller(500, 0, 1), Presented::Absent, START);
}

/// What is left of the fresh caller's limit when the race is over, counted by using it up.
fn left(limiter: &BoxedLimiter, now: Nanos) -> u32 {
    (0..10).map(|_| passes(limiter, fresh(), now)).sum()
}

/// A race to insert the fresh caller, in which exactly the limit must pass.
fn insert(readings: &'static [Nanos], limit: u32, before: fn(&BoxedLimiter)) -> impl Fn() + Sync + Send {
    move || {
        let (admitted, limiter) = race(with_a_slot_that_ends(limit), readings, before);
        let expected = limit.min(u32::try_from(readings.len()).unwrap());
        assert!(admitted == expected, "{admitted} passed in the race, not {expected}");
        let left = left(&limiter, LATE);
        assert!(left == limit - admitted, "{left} passed after {admitted}, and the limit is {limit}");
    }
}

#[test]
fn two_threads_insert_one_caller() {
    model(None, insert(&[EARLY, EARLY], 1, no));
}

#[test]
fn two_threads_whose_clocks_disagree_about_a_slot() {
    model(None, insert(&[EARLY, LATE], 1, no));
}

#[test]
fn two_threads_while_a_slot_is_freed() {
    model(None, insert(&[EARLY, EARLY], 1, sweep));
}

#[test]
fn three_threads_whose_clocks_disagree_about_a_slot() {
    model(Some(4), insert(&[EARLY, EARLY, LATE], 1, no));
}

#[test]
fn two_threads_while_a_third_frees_a_slot() {
    model(Some(4), || {
        let limiter = Arc::new(with_a_slot_that_ends(1));
        let inserting = [EARLY, EARLY].map(|now| {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || passes(&limiter, fresh(), now))
        });
        let sweeping = {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || sweep(&limiter))
        };
        let admitted: u32 = inserting.into_iter().map(|thread| thread.join().unwrap()).sum();
        sweeping.join().unwrap();
        assert!(admitted == 1, "{admitted} passed in the race, not 1");
        assert_eq!(left(&limiter, LATE), 0);
    });
}

#[test]
fn two_threads_charge_one_word() {
    model(None, || {
        let limiter = limiter(3, Overflow::Inherit);
        assert_eq!(passes(&limiter, fresh(), START), 1);
        let (admitted, limiter) = race(limiter, &[START; 2], no);
        assert_eq!((admitted, left(&limiter, START)), (2, 0));
    });
}

#[test]
fn three_threads_over_the_end_of_the_caller_s_own_window() {
    model(Some(4), || {
        let limiter = limiter(2, Overflow::Inherit);
        assert_eq!(passes(&limiter, fresh(), START) + passes(&limiter, fresh(), START), 2);
        let (admitted, limiter) = race(limiter, &[EARLY, LATE, LATE], no);
        // The one that reads EARLY is refused, or admitted to the window that another has begun.
        assert_eq!((admitted, left(&limiter, LATE)), (2, 0));
    });
}

#[test]
fn a_full_table_is_inherited_from_once() {
    model(Some(4), || {
        let (admitted, limiter) = race(full(4, Overflow::Inherit), &[START; 2], stranger);
        // The caller starts with the count of the word that it takes over: at least 1.
        assert_eq!(admitted, 2);
        assert!(left(&limiter, START) <= 1, "the caller has two words");
    });
}

#[test]
fn a_full_table_forgets_once() {
    model(Some(4), || {
        let (admitted, limiter) = race(full(4, Overflow::Forget), &[START; 3], no);
        assert_eq!((admitted, left(&limiter, START)), (3, 1));
    });
}

#[test]
fn a_full_table_refuses_all_or_admits_all() {
    for (overflow, expected) in [(Overflow::Refuse, 0), (Overflow::Admit, 2)] {
        model(None, move || {
            let (admitted, _) = race(full(4, overflow), &[START; 2], no);
            assert_eq!(admitted, expected);
        });
    }
}

// Each flaw must be caught by a scenario that the sound protocol passes above.

#[test]
#[should_panic(expected = " passed ")]
fn a_naive_insert_is_caught() {
    Flaw::NaiveInsert.install();
    model(None, insert(&[EARLY, LATE], 1, no));
}

#[test]
#[should_panic(expected = " passed ")]
fn the_protocol_without_a_fence_is_caught() {
    Flaw::NoFence.install();
    model(None, insert(&[EARLY, LATE], 1, no));
}

#[test]
#[should_panic(expected = " passed ")]
fn the_protocol_without_rule_6_is_caught() {
    Flaw::NoRule6.install();
    model(Some(4), insert(&[EARLY, EARLY, LATE], 1, no));
}
