//! The rate that a greedy caller gets in the long run, for limits, periods and costs from one a day to ten million a
//! second. Abuse 28: no rounding turns a limit off.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use std::collections::BTreeSet;

use tollgate::{BoxedLimiter, Key, Keyer, Nanos, Presented, Quota, Verdict};

const KEYER: Keyer = Keyer::new(*b"a seed for tests");
const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 24 * 60 * 60 * SECOND;
const PERIODS: [u64; 11] = [
    2048,
    3000,
    1_000_000,
    SECOND / 3,
    SECOND,
    60 * SECOND,
    3600 * SECOND,
    DAY,
    7 * DAY,
    365 * DAY,
    36_524 * DAY,
];
const LIMITS: [u32; 17] = [
    1,
    2,
    3,
    7,
    10,
    60,
    100,
    300,
    999,
    1024,
    10_007,
    65_535,
    86_400,
    1_000_000,
    4_194_303,
    10_000_000,
    600_000_000,
];

/// Quotas of every limit and period, one a day or less to ten million a second, with costs of every size.
fn sweep(mut each: impl FnMut(u32, u64, u32)) {
    for period in PERIODS {
        for limit in LIMITS {
            if u128::from(limit) * u128::from(SECOND) > u128::from(period) * 10_000_000 {
                continue;
            }
            for cost in BTreeSet::from([1, 2, 3, limit / 3, limit / 2 + 1, limit]) {
                if (1..=limit).contains(&cost) {
                    each(limit, period, cost);
                }
            }
        }
    }
}

/// A caller that never waits longer than it is told.
struct Greedy {
    limiter: BoxedLimiter,
    began: u64,
    now: u64,
}

impl Greedy {
    /// None if the quota can't be enforced; which quotas can't is for the tests of the errors.
    fn new(quota: Quota) -> Option<Self> {
        let limiter = BoxedLimiter::with_capacity(quota, 16).ok()?;
        // Long after the clock's zero, beside no power of two.
        let began = (1 << 60) + 987_654_321;
        Some(Self { limiter, began, now: began })
    }

    fn key() -> Key {
        KEYER.bytes(b"greedy")
    }

    /// The wait, if it is refused.
    fn ask(&self, cost: u32) -> Option<u64> {
        match self.limiter.check_n(Self::key(), Presented::Absent, Nanos(self.now), cost) {
            Verdict::Admitted(_) => None,
            Verdict::Refused(refusal) => Some(refusal.retry_after.0),
            Verdict::Exempt(_) => panic!("nobody is exempt here"),
        }
    }

    /// Takes `cost` as soon as it gets it.
    fn take(&mut self, cost: u32) {
        if let Some(wait) = self.ask(cost) {
            self.now += wait;
            assert_eq!(self.ask(cost), None, "it waited as told");
        }
    }

    fn elapsed(&self) -> u128 {
        u128::from(self.now - self.began)
    }
}

#[test]
fn a_fixed_window_keeps_its_rate_to_a_thousandth() {
    let mut quotas = 0;
    sweep(|limit, period, cost| {
        let Some(mut caller) = Greedy::new(Quota::new(limit, Nanos(period))) else {
            // The largest for every window; some windows leave room for more.
            assert!(limit > 4_194_303);
            return;
        };
        // A window admits so many of the cost, and most of them at once, so that it takes no hours to count.
        let batches = limit / cost;
        let single = batches.min(5);
        // No more than fit in the years that are left.
        let windows = ((u64::MAX - caller.now) / period - 1).min(10);
        for _ in 0..windows {
            if batches > single {
                caller.take((batches - single) * cost);
            }
            (0..single).for_each(|_| caller.take(cost));
            let told = caller.ask(cost).unwrap();
            caller.now += told / 2;
            assert!(caller.ask(cost).is_some(), "half of the wait is no wait");
            caller.now += told - told / 2;
        }
        let (elapsed, ideal) = (caller.elapsed(), u128::from(period) * u128::from(windows));
        assert!(
            elapsed <= ideal && elapsed * 1000 >= ideal * 999,
            "{limit} in {period} ns by {cost}: {elapsed}"
        );
        quotas += 1;
    });
    assert!(quotas > 500, "{quotas}");
}

#[test]
fn gcra_keeps_its_rate_to_a_thousandth() {
    let mut quotas = 0;
    sweep(|rate, period, cost| {
        for burst in BTreeSet::from([cost, cost.saturating_mul(2), rate]) {
            let requests = 1000;
            let promise =
                rate.checked_add(burst).map(|limit| Quota::at_most(limit).in_any(Nanos(period)).burst(burst));
            for quota in [Some(Quota::new(rate, Nanos(period)).burst(burst)), promise].into_iter().flatten() {
                let Some(mut caller) = Greedy::new(quota) else {
                    assert!(burst > 8_000_000, "{quota:?}");
                    continue;
                };
                // No more than fit in the years that are left.
                let affordable =
                    u128::from(u64::MAX / 2) * u128::from(rate) / u128::from(period) / u128::from(cost);
                let requests = requests.min(affordable);
                assert_eq!(caller.ask(burst), None);
                (0..requests).for_each(|_| caller.take(cost));
                // All of this is by `rate`, to compare whole numbers.
                let elapsed = caller.elapsed() * u128::from(rate);
                let ideal = u128::from(period) * u128::from(cost) * requests;
                // The leeway, of 1/256 of an interval, and the tick of the begin, of 1/1024, can be used once. A caller that waits till its whole burst is there waits for a whole
                // nanosecond.
                let leeway = u128::from(period) / 200;
                let rounding = if cost == burst { requests * u128::from(rate) } else { u128::from(rate) };
                assert!(elapsed + leeway >= ideal, "{quota:?} by {cost}: {elapsed} of {ideal}");
                assert!(
                    elapsed <= ideal + ideal / 1000 + rounding,
                    "{quota:?} by {cost}: {elapsed} of {ideal}"
                );
                quotas += 1;
            }
        }
    });
    assert!(quotas > 2000, "{quotas}");
}

/// Each of the clock's windows admits as many of a cost as the limit has, neither more nor fewer.
#[test]
fn a_sliding_window_keeps_its_rate_exactly() {
    let mut quotas = 0;
    sweep(|limit, period, cost| {
        let Some(mut caller) = Greedy::new(Quota::new(limit, Nanos(period)).sliding()) else {
            assert!(limit > 65_535);
            return;
        };
        let length = caller.limiter.enforced_window().0;
        assert!(length <= period && u128::from(period - length) * 10_000_000 <= u128::from(period));
        let batches = u64::from(limit / cost);
        let windows = (20_000 / batches).clamp(4, 20);
        caller.now = (caller.now / length + 1) * length;
        let begin = caller.now;
        let Some(end) = length.checked_mul(windows).and_then(|all| begin.checked_add(all)) else { return };
        let mut admitted = 0;
        while caller.now < end {
            match caller.ask(cost) {
                Some(wait) => caller.now += wait,
                None => admitted += 1,
            }
        }
        assert_eq!(admitted, batches * windows, "{limit} in {period} ns by {cost}");
        quotas += 1;
    });
    assert!(quotas > 300, "{quotas}");
}
