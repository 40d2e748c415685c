//! A limited caller stays limited however many others are sent past it. Abuse 14 and 36, and what each policy
//! does when there is no room.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use tollgate::{Basis, BoxedLimiter, Key, Keyer, Nanos, Overflow, Presented, Quota, Reason, Verdict};

const KEYER: Keyer = Keyer::new(*b"a seed for tests");
const NOW: Nanos = Nanos::from_secs(1000);

fn key(caller: u64) -> Key {
    KEYER.bytes(&caller.to_le_bytes())
}

fn limiter(limit: u32, capacity: usize, overflow: Overflow) -> BoxedLimiter {
    BoxedLimiter::with_capacity(Quota::per_minute(limit), capacity).unwrap().with_overflow(overflow)
}

fn check(limiter: &BoxedLimiter, caller: u64) -> Verdict {
    limiter.check(key(caller), Presented::Absent, NOW)
}

#[test]
fn a_limited_caller_can_t_flush_its_count_by_spraying() {
    for overflow in [Overflow::Inherit, Overflow::Refuse, Overflow::Admit] {
        let capacity = 1024;
        let limiter = limiter(20, capacity, overflow);
        let throttled = 0..32;
        for caller in throttled.clone() {
            assert_eq!((0..40).filter(|_| check(&limiter, caller).passes()).count(), 20);
        }
        for sprayed in 0..512 * capacity as u64 {
            let _ = check(&limiter, 1_000 + sprayed);
            if sprayed % 8191 == 0 {
                for caller in throttled.clone() {
                    assert!(!check(&limiter, caller).passes(), "{overflow:?}: {caller} after {sprayed}");
                }
            }
        }
        for caller in throttled {
            assert!(!check(&limiter, caller).passes(), "{overflow:?}: {caller} at the end");
        }
    }
}

/// Under `Forget` newcomers displace each other, since they are charged less than who is at its limit.
#[test]
fn forget_keeps_the_limited_while_others_are_charged_less() {
    let limiter = limiter(20, 1024, Overflow::Forget);
    for caller in 0..32 {
        assert_eq!((0..40).filter(|_| check(&limiter, caller).passes()).count(), 20);
    }
    for sprayed in 0..512 * 1024 {
        assert!(check(&limiter, 1_000 + sprayed).passes());
    }
    assert!((0..32).all(|caller| !check(&limiter, caller).passes()));
    assert!(limiter.counts().taken_over > 500 * 1024);
}

/// Fills all sixteen slots of the smallest table with callers that are at their limit of one.
fn full(overflow: Overflow) -> BoxedLimiter {
    let limiter = limiter(1, 16, Overflow::Refuse);
    let mut callers = 0;
    while limiter.counts().refused_by_overflow == 0 {
        let _ = check(&limiter, callers);
        callers += 1;
    }
    assert_eq!(callers, 17);
    limiter.with_overflow(overflow)
}

#[test]
fn each_policy_does_what_it_says_and_says_so() {
    let newcomer = 1_000_000;
    for overflow in [Overflow::Inherit, Overflow::Refuse] {
        let limiter = full(overflow);
        let before = limiter.counts().refused_by_overflow;
        let Verdict::Refused(refusal) = check(&limiter, newcomer) else { panic!("{overflow:?} admits") };
        assert_eq!(refusal.reason, Reason::Overflow);
        assert!(refusal.retry_after.0 > 0 && refusal.retry_after <= Nanos::from_secs(60));
        assert_eq!(limiter.counts().refused_by_overflow, before + 1);
        // Who waits as told finds room.
        let then = NOW.saturating_add(refusal.retry_after);
        assert!(limiter.check(key(newcomer), Presented::Absent, then).passes());
    }
    let limiter = full(Overflow::Admit);
    for _ in 0..10 {
        let Verdict::Admitted(standing) = check(&limiter, newcomer) else { panic!("refused") };
        assert_eq!((standing.basis, standing.remaining), (Basis::Uncounted, 0));
    }
    assert_eq!(limiter.counts().uncounted, 10);
    let limiter = full(Overflow::Forget);
    let Verdict::Admitted(standing) = check(&limiter, newcomer) else { panic!("refused") };
    assert_eq!(standing.basis, Basis::TookOver);
    assert!(!check(&limiter, newcomer).passes());
    assert_eq!(limiter.counts().taken_over, 1);
}

#[test]
fn an_heir_starts_with_the_least_count() {
    let limiter = limiter(10, 16, Overflow::Inherit);
    let mut callers = 0;
    while limiter.counts().inherited == 0 {
        let basis = (0..3).map(|_| match check(&limiter, callers) {
            Verdict::Admitted(standing) => (standing.basis, standing.remaining),
            other => panic!("{other:?}"),
        });
        let first = basis.collect::<Vec<_>>()[0];
        // Sixteen callers with three requests each; the seventeenth inherits three and pays for one.
        assert_eq!(first, if callers < 16 { (Basis::Own, 9) } else { (Basis::Inherited, 6) });
        callers += 1;
    }
    assert_eq!(callers, 17);
}

/// Words whose window is over are room, without a sweep.
#[test]
fn the_table_is_used_again_without_sweeping() {
    let limiter = limiter(1, 16, Overflow::Refuse);
    for round in 0..1000 {
        let now = NOW.saturating_add(Nanos::from_secs(60 * round));
        for caller in 0..16 {
            let verdict = limiter.check(key(round * 100 + caller), Presented::Absent, now);
            assert!(verdict.passes(), "round {round}, caller {caller}: {verdict:?}");
        }
    }
    assert_eq!(limiter.sweep(NOW.saturating_add(Nanos::from_secs(60_000))), 16);
    assert_eq!(limiter.sweep(NOW.saturating_add(Nanos::from_secs(60_000))), 0);
}

/// With GCRA a newcomer takes over a debt, so where all debts are whole it is refused and takes over nothing: a claim that
/// can't be committed would block its slot.
#[test]
fn forgetting_whole_debts_leaves_no_claims_behind() {
    let quota = Quota::per_minute(2).burst(2);
    let limiter = BoxedLimiter::with_capacity(quota, 16).unwrap().with_overflow(Overflow::Forget);
    (0..100).for_each(|caller| (0..2).for_each(|_| _ = check(&limiter, caller)));
    let taken_over = limiter.counts().taken_over;
    for newcomer in 1_000..1_100 {
        let Verdict::Refused(refusal) = check(&limiter, newcomer) else {
            panic!("a whole debt was forgiven")
        };
        assert_eq!(refusal.reason, Reason::Overflow);
        let then = NOW.saturating_add(refusal.retry_after);
        assert!(refusal.retry_after <= Nanos::from_secs(61), "{refusal:?}");
        assert!(limiter.peek(key(newcomer), then).remaining == 2);
    }
    assert_eq!((limiter.counts().taken_over, limiter.counts().contended), (taken_over, 0));
}
