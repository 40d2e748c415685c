//! Costs, standings, quotas that change, sweeps and counters.

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{
    BoxedLimiter, Counts, Credentials, Nanos, Overflow, Presented, Quota, QuotaError, Reason, SetQuotaError,
    Verdict,
};

use crate::support::{LIMIT, MINUTE, NOW, charge, full, key, limiter, occupied, quotas, refused, remaining};

// Abuse 19.
#[test]
fn a_batch_costs_as_much_as_its_parts() {
    for quota in quotas() {
        let limiter = limiter(quota);
        assert_eq!(charge(&limiter, 1, NOW, 7).remaining, 3);
        assert_eq!(refused(&limiter, 1, NOW, 4), Reason::OverLimit);
        assert_eq!(charge(&limiter, 1, NOW, 3).remaining, 0);
        assert_eq!(refused(&limiter, 1, NOW, 1), Reason::OverLimit);
        assert_eq!(charge(&limiter, 2, NOW, LIMIT).remaining, 0, "all at once");
    }
}

#[test]
fn nothing_costs_nothing_and_too_much_is_its_own_reason() {
    for quota in quotas() {
        let limiter = limiter(quota);
        let standing = charge(&limiter, 1, NOW, 0);
        assert_eq!((standing.limit, standing.remaining, standing.receipt.cost()), (LIMIT, LIMIT, 0));
        for cost in [LIMIT + 1, u32::MAX] {
            let verdict = limiter.check_n(key(1), Presented::Absent, NOW, cost);
            let Verdict::Refused(refusal) = verdict else { panic!("{cost} passed") };
            assert_eq!((refusal.reason, refusal.retry_after), (Reason::CostAboveLimit, Nanos::MAX));
        }
        assert_eq!(occupied(&limiter, NOW), (0, 0), "{quota:?}: neither is written");
        charge(&limiter, 1, NOW, LIMIT);
        // Also of somebody who has used everything.
        assert_eq!(charge(&limiter, 1, NOW, 0).remaining, 0);
        assert_eq!(refused(&limiter, 1, NOW, LIMIT + 1), Reason::CostAboveLimit);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    // There is one request more after the wait, and not before.
    #[test]
    fn more_comes_when_it_was_told(
        trace in vec((0u64..20, 1u32..6), 1..30),
        fraction in 0u64..1_000_000_000,
    ) {
        for quota in quotas() {
            let limiter = limiter(quota);
            let mut now = NOW;
            for &(seconds, cost) in &trace {
                now = now.saturating_add(Nanos(seconds * 1_000_000_000 + fraction));
                let Verdict::Admitted(standing) = limiter.check_n(key(1), Presented::Absent, now, cost) else {
                    continue;
                };
                let wait = limiter.more_in(&standing, now);
                prop_assert!(wait > Nanos::ZERO && wait <= standing.resets_in, "{quota:?}: {wait:?}");
                let then = now.saturating_add(wait);
                prop_assert!(remaining(&limiter, 1, then) > standing.remaining, "{quota:?}");
                prop_assert_eq!(remaining(&limiter, 1, Nanos(then.0 - 1)), standing.remaining, "{:?}", quota);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    // Who is looked at is decided upon as who is not; a look says what the next charge finds.
    #[test]
    fn a_peek_writes_nothing(trace in vec((0u32..3, 0u64..40, 1u32..6), 1..60)) {
        for quota in quotas() {
            let (looked_at, left_alone) = (limiter(quota), limiter(quota));
            let mut now = NOW;
            for &(caller, seconds, cost) in &trace {
                now = now.saturating_add(Nanos::from_secs(seconds));
                let before = occupied(&looked_at, now);
                let standing = looked_at.peek(key(caller), now);
                let _ = looked_at.peek(key(caller + 100), now.saturating_add(MINUTE));
                prop_assert_eq!(occupied(&looked_at, now), before);
                prop_assert_eq!(looked_at.peek(key(caller), now), standing);
                let verdict = looked_at.check_n(key(caller), Presented::Absent, now, cost);
                prop_assert_eq!(verdict, left_alone.check_n(key(caller), Presented::Absent, now, cost));
                prop_assert_eq!(verdict.passes(), standing.remaining >= cost);
                if let Verdict::Admitted(charged) = verdict {
                    prop_assert_eq!(charged.remaining, standing.remaining - cost);
                    prop_assert_eq!(looked_at.peek(key(caller), now).resets_in, charged.resets_in);
                }
            }
        }
    }
}

#[test]
fn set_quota_keeps_counts_and_holds_from_the_next_request_on() {
    let pairs = [
        (Quota::per_minute(10), Quota::per_minute(8), Quota::per_minute(15)),
        (Quota::per_minute(10).sliding(), Quota::per_minute(8).sliding(), Quota::per_minute(15).sliding()),
        (Quota::per_minute(10).burst(10), Quota::per_minute(10).burst(8), Quota::per_minute(10).burst(15)),
    ];
    for (built, lower, higher) in pairs {
        let limiter = limiter(built);
        charge(&limiter, 1, NOW, 9);
        limiter.set_quota(lower).unwrap();
        assert_eq!((limiter.limit(), limiter.quota()), (8, built));
        assert_eq!(remaining(&limiter, 1, NOW), 0, "{lower:?}: never below none");
        assert_eq!(refused(&limiter, 1, NOW, 1), Reason::OverLimit);
        assert_eq!(refused(&limiter, 1, NOW, 9), Reason::CostAboveLimit);
        assert_eq!(charge(&limiter, 2, NOW, 8).remaining, 0);
        limiter.set_quota(higher).unwrap();
        let standing = charge(&limiter, 1, NOW, 1);
        assert_eq!((standing.limit, standing.remaining), (15, 5), "{higher:?}: nine are counted");
    }
    // A window of a similar length begins when it began, and ends earlier.
    let limiter = limiter(Quota::new(10, MINUTE));
    charge(&limiter, 1, NOW, 10);
    let earlier = NOW.saturating_add(Nanos::from_secs(50));
    assert_eq!(refused(&limiter, 1, earlier, 1), Reason::OverLimit);
    limiter.set_quota(Quota::new(10, Nanos::from_secs(45))).unwrap();
    assert!(limiter.enforced_window() <= Nanos::from_secs(45));
    assert_eq!(charge(&limiter, 1, earlier, 1).remaining, 9);
}

#[test]
fn set_quota_refuses_what_would_change_the_counts_meaning() {
    let others = [
        Quota::per_minute(16),
        Quota::per_hour(10),
        Quota::per_minute(10).sliding(),
        Quota::per_minute(10).burst(10),
        Quota::new(10, Nanos::from_secs(50)).sliding(),
        Quota::per_minute(16).sliding(),
        Quota::per_minute(100).burst(10),
        Quota::at_most(200).in_any(MINUTE).burst(10),
    ];
    for quota in [Quota::per_minute(10), Quota::new(10, MINUTE).sliding(), Quota::per_minute(10).burst(10)] {
        let limiter = limiter(quota);
        charge(&limiter, 1, NOW, 9);
        for other in others.into_iter().filter(|&other| other != quota) {
            let error = limiter.set_quota(other).unwrap_err();
            assert_eq!(error, SetQuotaError::NotAlike, "{quota:?} to {other:?}");
            assert!(error.to_string().contains("another limiter"));
        }
        let error = limiter.set_quota(Quota::per_minute(0)).unwrap_err();
        assert_eq!(error, SetQuotaError::Quota(QuotaError::ZeroLimit));
        assert_eq!((remaining(&limiter, 1, NOW), limiter.limit()), (1, 10), "nothing has changed");
    }
}

#[test]
fn a_sweep_clears_what_is_over_and_nothing_else() {
    for quota in quotas() {
        let limiter = limiter(quota);
        (0..10).for_each(|caller| _ = charge(&limiter, caller, NOW, LIMIT));
        let second = NOW.saturating_add(Nanos::from_secs(1));
        (10..13).for_each(|caller| _ = charge(&limiter, caller, second, LIMIT));
        assert_eq!(limiter.sweep(second), 0, "{quota:?}");
        assert!((0..13).all(|caller| remaining(&limiter, caller, second) == 0));
        assert_eq!(occupied(&limiter, second), (13, 0));
        // Two windows later, and what rounding may add to them.
        let idle = NOW.saturating_add(Nanos::from_secs(122));
        assert_eq!(occupied(&limiter, idle), (0, 13), "{quota:?}: they restrain nobody any more");
        assert_eq!(limiter.sweep(idle), 13);
        assert_eq!(occupied(&limiter, idle), (0, 0));
    }
}

#[test]
fn figures_are_as_documented() {
    let limiter = limiter(Quota::per_minute(300));
    assert!((limiter.collision_odds() - 16.0 / 134_217_728.0).abs() < f64::EPSILON * 1e-7);
    assert!(limiter.collision_odds() < 1.2e-7);
    let occupancy = limiter.occupancy(NOW);
    assert_eq!((occupancy.capacity, limiter.capacity()), (64, 64));
    let days = limiter.sweep_interval().whole_secs_up() / 86_400;
    assert!((5..=7).contains(&days), "{days} days");
    let minutes = self::limiter(Quota::per_minute(1_000_000)).sweep_interval().whole_secs_up() / 60;
    assert!((4..=6).contains(&minutes), "{minutes} minutes");
    // Whatever the quota, there is a window at least between two sweeps.
    for quota in
        quotas().into_iter().chain([Quota::per_minute(65_535).sliding(), Quota::per_minute(4_194_303)])
    {
        let limiter = self::limiter(quota);
        assert!(limiter.sweep_interval() >= limiter.enforced_window(), "{quota:?}");
    }
}

/// What `act` adds to the counts.
fn counted(limiter: &BoxedLimiter, act: impl FnOnce(&BoxedLimiter)) -> Counts {
    let before = limiter.counts();
    act(limiter);
    let after = limiter.counts();
    let mut counts = Counts::default();
    counts.refused = after.refused - before.refused;
    counts.exempt = after.exempt - before.exempt;
    counts.forged = after.forged - before.forged;
    counts.withdrawn = after.withdrawn - before.withdrawn;
    counts.contended = after.contended - before.contended;
    counts.inherited = after.inherited - before.inherited;
    counts.taken_over = after.taken_over - before.taken_over;
    counts.uncounted = after.uncounted - before.uncounted;
    counts.refused_by_overflow = after.refused_by_overflow - before.refused_by_overflow;
    counts
}

/// Counts of which one or two are 1.
fn counts(set: impl FnOnce(&mut Counts)) -> Counts {
    let mut counts = Counts::default();
    set(&mut counts);
    counts
}

#[test]
fn each_event_is_counted_once_and_as_itself() {
    let credentials = Credentials::<1>::new().with("edge", b"sixteen or more bytes").unwrap();
    let own = || credentials.verify(Some(b"sixteen or more bytes"));
    let forged = || credentials.verify(Some(b"sixteen or more bytes!"));
    for quota in quotas() {
        let limiter = limiter(quota);
        let check = |presented| counted(&limiter, |limiter| _ = limiter.check(key(1), presented, NOW));
        assert_eq!(check(Presented::Absent), Counts::default(), "an admission is not counted");
        assert_eq!(check(own()), counts(|counts| counts.exempt = 1));
        // A forgery is charged like any request, and a service's own is not.
        assert_eq!(check(forged()), counts(|counts| counts.forged = 1));
        assert_eq!(remaining(&limiter, 1, NOW), LIMIT - 2);
        charge(&limiter, 1, NOW, LIMIT - 2);
        assert_eq!(check(Presented::Absent), counts(|counts| counts.refused = 1));
        assert_eq!(check(forged()), counts(|counts| (counts.refused, counts.forged) = (1, 1)));
        assert_eq!(check(own()), counts(|counts| counts.exempt = 1));
        let dear = counted(&limiter, |limiter| _ = refused(limiter, 1, NOW, LIMIT + 1));
        assert_eq!(dear, counts(|counts| counts.refused = 1));
        let silent = counted(&limiter, |limiter| {
            let _ = limiter.peek(key(1), NOW);
            let receipt = charge(limiter, 2, NOW, 3).receipt;
            limiter.refund(receipt, NOW);
            limiter.clear(key(1), NOW);
            limiter.sweep(NOW);
        });
        assert_eq!(silent, Counts::default());
    }
    for quota in quotas() {
        for (overflow, expected) in [
            (Overflow::Inherit, counts(|counts| counts.inherited = 1)),
            (Overflow::Forget, counts(|counts| counts.taken_over = 1)),
            (Overflow::Admit, counts(|counts| counts.uncounted = 1)),
            (Overflow::Refuse, counts(|counts| (counts.refused, counts.refused_by_overflow) = (1, 1))),
        ] {
            let newcomer = |limiter: &BoxedLimiter| _ = limiter.check(key(100), Presented::Absent, NOW);
            assert_eq!(counted(&full(quota, overflow), newcomer), expected, "{quota:?} {overflow:?}");
        }
    }
}
