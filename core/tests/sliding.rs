//! The sliding window against one in 128 bits, whose waits are searched for and not computed.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

mod support;

use hashbrown::HashMap;
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{BoxedLimiter, Key, Nanos, Presented, Quota, QuotaError, Reason, Verdict};

use support::windows;

/// Each caller has a home slot of its own, so that no caller's word is made over another's.
fn key(caller: u64) -> Key {
    Key::from_fingerprint((caller + 1) << 37 | caller)
}

/// What a caller was charged in each window, on windows and ticks as documented: a tick is the largest power of two of
/// which a window has 2²⁴ or more, or a nanosecond; a window is rounded down to whole ticks.
struct Oracle {
    limit: u128,
    tick: u128,
    /// In ticks.
    window: u128,
    charged: HashMap<(u64, u128), u128>,
}

#[derive(PartialEq, Eq, Debug)]
enum Answer {
    Admitted { remaining: u128, resets_in: u128 },
    Refused { retry_after: u128 },
    TooDear,
}

impl Oracle {
    fn new(quota: Quota) -> Self {
        let mut tick = 1;
        while u128::from(quota.window().0) / (tick * 2) >= 1 << 24 {
            tick *= 2;
        }
        let window = u128::from(quota.window().0) / tick;
        Self { limit: quota.limit().into(), tick, window, charged: HashMap::new() }
    }

    /// The number of the window and the ticks since its begin.
    fn moment(&self, now: u128) -> (u128, u128) {
        let ticks = now / self.tick;
        (ticks / self.window, ticks % self.window)
    }

    /// Requests in sight times the window's ticks.
    fn weighed(&self, caller: u64, now: u128) -> u128 {
        let (number, elapsed) = self.moment(now);
        let charged = |number| self.charged.get(&(caller, number)).copied().unwrap_or(0);
        let before = number.checked_sub(1).map_or(0, charged);
        before * (self.window - elapsed) + charged(number) * self.window
    }

    /// How many more pass. A part of a request does not count.
    fn room(&self, caller: u64, now: u128) -> u128 {
        self.limit.saturating_sub(self.weighed(caller, now) / self.window)
    }

    /// The nanoseconds until `is` first holds, which then goes on to hold until two windows later.
    fn wait(&self, now: u128, is: impl Fn(u128) -> bool) -> u128 {
        let (mut early, mut late) = (now, now + 2 * self.window * self.tick);
        while early < late {
            let middle = early.midpoint(late);
            if is(middle) {
                late = middle;
            } else {
                early = middle + 1;
            }
        }
        late - now
    }

    fn check(&mut self, caller: u64, now: u64, cost: u32) -> Answer {
        let (now, cost) = (u128::from(now), u128::from(cost));
        let passes = |oracle: &Self, now| cost <= oracle.room(caller, now);
        if cost > self.limit {
            Answer::TooDear
        } else if passes(self, now) {
            *self.charged.entry((caller, self.moment(now).0)).or_default() += cost;
            Answer::Admitted {
                remaining: self.room(caller, now),
                resets_in: self.wait(now, |now| self.weighed(caller, now) == 0),
            }
        } else {
            Answer::Refused { retry_after: self.wait(now, |now| passes(self, now)) }
        }
    }
}

fn answer(verdict: Verdict) -> Answer {
    match verdict {
        Verdict::Admitted(standing) => {
            Answer::Admitted { remaining: standing.remaining.into(), resets_in: standing.resets_in.0.into() }
        }
        Verdict::Refused(refusal) if refusal.reason == Reason::CostAboveLimit => {
            assert_eq!(refusal.retry_after, Nanos::MAX);
            Answer::TooDear
        }
        Verdict::Refused(refusal) => {
            assert_eq!(refusal.reason, Reason::OverLimit);
            Answer::Refused { retry_after: refusal.retry_after.0.into() }
        }
        Verdict::Exempt(_) => panic!("nobody is exempt here"),
    }
}

/// Every limit that fits, as the error for one that doesn't tells it; the largest ones often, since their rings are the
/// shortest.
fn limits() -> impl Strategy<Value = u32> {
    let Err(QuotaError::LimitTooLarge { largest }) = Quota::per_minute(u32::MAX).sliding().validate() else {
        panic!("any limit fits")
    };
    prop_oneof![2 => 1u32..8, 1 => 1u32..300, 1 => 1..=largest, 1 => Just(largest)]
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// By so many thousandths of a window.
    Windows(u128),
    /// To the end of the window, less so many nanoseconds.
    Boundary(u128),
    /// By so many quarters of the ring of windows.
    Quarters(u128),
    /// By the wait that was told last, less so many nanoseconds.
    AsTold(u128),
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Windows(0)),
        3 => (0u128..600).prop_map(Step::Windows),
        1 => (0u128..5000).prop_map(Step::Windows),
        2 => (0u128..2).prop_map(Step::Boundary),
        1 => (0u128..9).prop_map(Step::Quarters),
        4 => (0u128..2).prop_map(Step::AsTold),
    ]
}

/// Costs in thousandths of the limit, or single requests; some above the limit.
fn costs() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![3 => Just(None), 3 => (0u64..1100).prop_map(Some)]
}

fn cases() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10_000) }
}

proptest! {
    #![proptest_config(cases())]

    // Abuse 16 and 19: no rotation wipes or keeps a count, and a batch of n costs n.
    #[test]
    fn agrees_with_a_map_of_windows(
        window in windows(),
        limit in limits(),
        begin in prop_oneof![Just(0), any::<u32>().prop_map(u64::from), Just(1 << 63)],
        trace in vec((0u64..4, costs(), steps()), 1..60),
    ) {
        let quota = Quota::new(limit, Nanos(window)).sliding();
        let limiter = BoxedLimiter::with_capacity(quota, 64).unwrap();
        let mut oracle = Oracle::new(quota);
        let length = oracle.window * oracle.tick;
        prop_assert_eq!(u128::from(limiter.enforced_window().0), length);
        let (mut now, mut swept, mut wait) = (begin, begin, 0_u128);
        let sweep_interval = limiter.sweep_interval().0;
        for (caller, cost, step) in trace {
            let nanos = match step {
                Step::Windows(by) => length * by / 1000,
                Step::Boundary(less) => length - (u128::from(now) + less) % length,
                Step::Quarters(by) => u128::from(sweep_interval) * by,
                Step::AsTold(less) => wait.saturating_sub(less),
            };
            now = now.saturating_add(u64::try_from(nanos).unwrap_or(u64::MAX));
            // A quarter of the ring is a window or more, so that no step takes many sweeps.
            while now - swept > sweep_interval {
                swept += sweep_interval;
                limiter.sweep(Nanos(swept));
            }
            let cost = cost.map_or(1, |share| u32::try_from((share * u64::from(limit)).div_ceil(1000).max(1)).unwrap());
            let answered = answer(limiter.check_n(key(caller), Presented::Absent, Nanos(now), cost));
            if let Answer::Refused { retry_after } = answered {
                wait = retry_after;
            }
            prop_assert_eq!(answered, oracle.check(caller, now, cost));
        }
        let counts = limiter.counts();
        prop_assert_eq!((counts.withdrawn, counts.contended, counts.inherited, counts.taken_over), (0, 0, 0, 0));
    }

    // Abuse 30: an advertised wait is the enforced wait, to the nanosecond.
    #[test]
    fn who_waits_as_told_is_admitted(
        window in windows(),
        limit in limits(),
        begin in 0..u64::MAX / 4,
        (used, wanted, into) in (1u64..=1000, 1u64..=1000, 0u64..2000),
    ) {
        let limiter = BoxedLimiter::with_capacity(Quota::new(limit, Nanos(window)).sliding(), 16).unwrap();
        let check = |now, cost| limiter.check_n(key(1), Presented::Absent, Nanos(now), cost);
        let share = |share: u64| u32::try_from((u64::from(limit) * share).div_ceil(1000)).unwrap();
        prop_assert!(check(begin, share(used)).passes());
        let now = begin + u64::try_from(u128::from(window) * u128::from(into) / 1000).unwrap();
        let Verdict::Refused(refusal) = check(now, share(wanted)) else { return Ok(()) };
        let then = now + refusal.retry_after.0;
        prop_assert!(!check(then - 1, share(wanted)).passes());
        prop_assert!(check(then, share(wanted)).passes());
    }
}

/// A caller that stays away for two windows has everything again, whatever the limit: also with the largest that fits,
/// whose ring is the shortest. Sweeps keep nothing alive.
#[test]
fn two_windows_later_all_is_over() {
    for bits in 1..=32 {
        let quota = Quota::per_minute(u32::MAX >> (32 - bits)).sliding();
        let Ok(limiter) = BoxedLimiter::with_capacity(quota, 16) else { continue };
        let window = limiter.enforced_window().0;
        let check = |now| limiter.check_n(key(1), Presented::Absent, Nanos(now), quota.limit());
        assert!(check(0).passes());
        for number in 1..=8 {
            // The end of a quarter of the ring may come in any window.
            if number * window % limiter.sweep_interval().0 == 0 {
                limiter.sweep(Nanos(number * window));
            }
            let idle = limiter.peek(key(1), Nanos(number * window)).remaining == quota.limit();
            assert_eq!(idle, number >= 2, "limit {}, {number} windows later", quota.limit());
        }
        assert!(check(8 * window).passes(), "limit {}", quota.limit());
    }
}
