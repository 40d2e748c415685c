//! Refunds and clearing: what is given back, and when nothing is. Abuse 29.

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{Basis, Nanos, Overflow, Presented, Quota, Reason, Verdict};

use crate::support::{LIMIT, MINUTE, NOW, charge, full, key, limiter, occupied, quotas, refused, remaining};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    // Abuse 29: whatever is refunded whenever and however often, nobody has more than the limit, and a caller that is
    // refunded all has all.
    #[test]
    fn refunds_never_give_more_than_the_limit(
        trace in vec((0u64..50, 1u32..6, vec(any::<prop::sample::Index>(), 0..3)), 1..40),
    ) {
        for quota in quotas() {
            let limiter = limiter(quota);
            let (mut now, mut receipts) = (NOW, Vec::new());
            for (seconds, cost, refunds) in &trace {
                now = now.saturating_add(Nanos::from_secs(*seconds));
                if let Verdict::Admitted(standing) = limiter.check_n(key(1), Presented::Absent, now, *cost) {
                    receipts.push(standing.receipt);
                }
                for receipt in refunds.iter().filter(|_| !receipts.is_empty()) {
                    let receipt = *receipt.get(&receipts);
                    let before = remaining(&limiter, 1, now);
                    let refunded = limiter.refund(receipt, now);
                    let after = remaining(&limiter, 1, now);
                    prop_assert!(after <= LIMIT);
                    prop_assert!((before..=before + receipt.cost()).contains(&after));
                    prop_assert!(refunded || after == before);
                }
            }
            for _ in 0..2 {
                for &receipt in &receipts {
                    limiter.refund(receipt, now);
                }
            }
            let passed = (0..2 * LIMIT).filter(|_| limiter.check(key(1), Presented::Absent, now).passes()).count();
            prop_assert!(passed <= LIMIT as usize);
        }
    }
}

#[test]
fn a_refund_gives_back_what_was_charged() {
    for quota in quotas() {
        let limiter = limiter(quota);
        charge(&limiter, 1, NOW, 5);
        let standing = charge(&limiter, 1, NOW, 4);
        assert_eq!((standing.receipt.key(), standing.receipt.cost()), (key(1), 4));
        charge(&limiter, 2, NOW, 3);
        let later = NOW.saturating_add(Nanos::from_secs(5));
        let before = remaining(&limiter, 1, later);
        assert!(limiter.refund(standing.receipt, later));
        assert_eq!(remaining(&limiter, 1, later), before + 4, "{quota:?}");
        assert_eq!(remaining(&limiter, 2, NOW), LIMIT - 3, "nobody else's");
    }
}

// Abuse 29.
#[test]
fn a_refund_of_what_no_longer_counts_is_none() {
    for quota in quotas() {
        let limiter = limiter(quota);
        let receipt = charge(&limiter, 1, NOW, 4).receipt;
        // Two windows later it is out of sight, whatever the quota; before and after a new charge.
        let later = NOW.saturating_add(Nanos::from_secs(121));
        assert!(!limiter.refund(receipt, later), "{quota:?}");
        charge(&limiter, 1, later, 3);
        assert!(!limiter.refund(receipt, later), "{quota:?}");
        assert_eq!(remaining(&limiter, 1, later), LIMIT - 3);
    }
    // A fixed window that has begun again is another one, however short the time in between.
    let limiter = limiter(Quota::per_minute(LIMIT));
    let last = NOW.saturating_add(limiter.enforced_window()).saturating_sub(Nanos(60_000_000));
    charge(&limiter, 1, NOW, 1);
    let receipt = charge(&limiter, 1, last, 4).receipt;
    let next = NOW.saturating_add(MINUTE);
    charge(&limiter, 1, next, 5);
    assert!(!limiter.refund(receipt, next));
    assert_eq!(remaining(&limiter, 1, next), LIMIT - 5);
    // A sliding window's charge counts in the next one, and is given back there.
    let limiter = self::limiter(Quota::per_minute(LIMIT).sliding());
    let receipt = charge(&limiter, 1, NOW, LIMIT).receipt;
    let half = NOW.saturating_add(Nanos::from_secs(91));
    charge(&limiter, 1, half, 5);
    assert!(limiter.refund(receipt, half));
    assert_eq!(remaining(&limiter, 1, half), LIMIT - 5);
}

#[test]
fn a_refund_of_the_displaced_is_none() {
    for quota in quotas() {
        let limiter = full(quota, Overflow::Forget);
        let receipt = charge(&limiter, 0, NOW, 1).receipt;
        // Newcomers use more than those that are there, until of these nobody is left.
        for newcomer in 100..200 {
            let _ = limiter.check_n(key(newcomer), Presented::Absent, NOW, 5);
        }
        let before = occupied(&limiter, NOW);
        assert_eq!(remaining(&limiter, 0, NOW), LIMIT, "{quota:?}: displaced");
        assert!(!limiter.refund(receipt, NOW));
        assert_eq!(occupied(&limiter, NOW), before);
    }
    // Who passed uncounted has nothing to be given back.
    let limiter = full(Quota::per_minute(LIMIT), Overflow::Admit);
    let uncounted = charge(&limiter, 100, NOW, 3);
    assert_eq!((uncounted.basis, uncounted.receipt.cost()), (Basis::Uncounted, 0));
    assert!(!limiter.refund(uncounted.receipt, NOW));
}

/// A displaced caller that comes back has a new word, of which the old charge is no part. A fixed window tells by its
/// start; in a sliding window's state nothing tells, so there it gets back what it has in the new word, at most. (With GCRA
/// it comes back with another's debt.)
#[test]
fn a_refund_of_a_charge_before_a_displacement() {
    for quota in [Quota::per_minute(LIMIT), Quota::per_minute(LIMIT).sliding()] {
        let limiter = full(quota, Overflow::Forget);
        let receipt = charge(&limiter, 0, NOW, 1).receipt;
        for newcomer in 100..200 {
            let _ = limiter.check_n(key(newcomer), Presented::Absent, NOW, 5);
        }
        let later = NOW.saturating_add(Nanos::from_secs(1));
        let back = charge(&limiter, 0, later, 5);
        assert_eq!(back.basis, Basis::TookOver);
        let refunded = limiter.refund(receipt, later);
        assert_eq!(refunded, quota != Quota::per_minute(LIMIT), "{quota:?}");
        assert!(remaining(&limiter, 0, later) <= back.remaining + u32::from(refunded));
    }
}

/// A refund leaves a caller where it would be without the charge, or worse, never better: time has paid part of it.
#[test]
fn a_refund_leaves_no_credit() {
    for quota in quotas() {
        let (refunded, without) = (limiter(quota), limiter(quota));
        let receipt = charge(&refunded, 1, NOW, 1).receipt;
        // Just before the first charge is paid.
        let later = NOW.saturating_add(Nanos::from_millis(5_990));
        charge(&refunded, 1, later, 5);
        charge(&without, 1, later, 5);
        refunded.refund(receipt, later);
        assert!(remaining(&refunded, 1, later) <= remaining(&without, 1, later), "{quota:?}");
    }
}

#[test]
fn clear_gives_one_caller_its_limit_again() {
    for quota in quotas() {
        let limiter = limiter(quota);
        assert!(!limiter.clear(key(1), NOW), "unknown");
        charge(&limiter, 1, NOW, LIMIT);
        charge(&limiter, 2, NOW, LIMIT);
        assert!(limiter.clear(key(1), NOW));
        assert!(!limiter.clear(key(1), NOW), "{quota:?}: cleared already");
        assert_eq!((remaining(&limiter, 1, NOW), remaining(&limiter, 2, NOW)), (LIMIT, 0));
        assert_eq!(charge(&limiter, 1, NOW, LIMIT).remaining, 0);
        assert_eq!(refused(&limiter, 1, NOW, 1), Reason::OverLimit);
    }
}
