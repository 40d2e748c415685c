//! The limiter against a slow and obvious one: a map from callers to the start and count of their windows.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

mod support;

use hashbrown::HashMap;
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{BoxedLimiter, Key, Keyer, Limiter, Nanos, Presented, Quota, Reason, Verdict};

use support::windows;

const KEYER: Keyer = Keyer::new(*b"a seed for tests");

fn key(caller: u32) -> Key {
    KEYER.bytes(&caller.to_le_bytes())
}

/// A fixed window for each caller, in 128-bit nanoseconds, on windows and ticks as documented: a tick is the
/// largest power of two that divides the window into 2,048 parts or more; a window begins with a tick.
struct Oracle {
    limit: u32,
    tick: u128,
    window: u128,
    callers: HashMap<u32, (u128, u32)>,
}

#[derive(PartialEq, Eq, Debug)]
enum Answer {
    Admitted { remaining: u32, resets_in: u128 },
    Refused { retry_after: u128 },
}

impl Oracle {
    fn new(quota: Quota) -> Self {
        let mut tick = 1;
        while u128::from(quota.window().0) / (tick * 2) >= 2048 {
            tick *= 2;
        }
        let window = u128::from(quota.window().0) / tick * tick;
        Self { limit: quota.limit(), tick, window, callers: HashMap::new() }
    }

    fn check(&mut self, caller: u32, now: Nanos) -> Answer {
        let now = u128::from(now.0);
        let (start, count) = self.callers.entry(caller).or_insert((now / self.tick * self.tick, 0));
        if now >= *start + self.window {
            (*start, *count) = (now / self.tick * self.tick, 0);
        }
        let ends_in = *start + self.window - now;
        if *count < self.limit {
            *count += 1;
            Answer::Admitted { remaining: self.limit - *count, resets_in: ends_in }
        } else {
            Answer::Refused { retry_after: ends_in }
        }
    }
}

fn answer(verdict: Verdict) -> Answer {
    match verdict {
        Verdict::Admitted(standing) => {
            Answer::Admitted { remaining: standing.remaining, resets_in: standing.resets_in.0.into() }
        }
        Verdict::Refused(refusal) => {
            assert_eq!(refusal.reason, Reason::OverLimit);
            Answer::Refused { retry_after: refusal.retry_after.0.into() }
        }
        Verdict::Exempt(_) => panic!("nobody is exempt here"),
    }
}

/// Steps of time in 1/1,000 windows, mostly small.
fn steps() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(0), 4 => 0u64..30, 1 => 900u64..1100, 1 => 0u64..5000]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10_000) })]

    #[test]
    fn agrees_with_a_map_of_windows(
        window in windows(),
        limit in prop_oneof![1u32..8, 1u32..=4_194_303],
        // The last of these is where rings of times of many sizes begin anew.
        begin in prop_oneof![Just(0), any::<u32>().prop_map(u64::from), Just(u64::MAX / 2)],
        trace in vec((0u32..12, steps()), 1..120),
    ) {
        let quota = Quota::new(limit, Nanos(window));
        let limiter = BoxedLimiter::with_capacity(quota, 256).unwrap();
        let mut oracle = Oracle::new(quota);
        let (mut now, mut swept) = (begin, begin);
        for (caller, step) in trace {
            now = now.saturating_add(u64::try_from(u128::from(window) * u128::from(step) / 1000).unwrap_or(u64::MAX));
            // The shortest ring is four windows long, so that each window needs its sweep; see tests/time.rs for
            // what happens without.
            while now - swept > window {
                swept += window;
                limiter.sweep(Nanos(swept));
            }
            let verdict = limiter.check(key(caller), Presented::Absent, Nanos(now));
            prop_assert_eq!(answer(verdict), oracle.check(caller, Nanos(now)));
        }
        let counts = limiter.counts();
        prop_assert_eq!((counts.withdrawn, counts.contended, counts.inherited, counts.taken_over), (0, 0, 0, 0));
    }

    // Abuse 30 and 17: an advertised wait is the enforced wait, to the nanosecond.
    #[test]
    fn who_waits_as_told_is_admitted(window in windows(), begin in 0..u64::MAX / 4, into in 0u64..1000) {
        let limiter = BoxedLimiter::with_capacity(Quota::new(1, Nanos(window)), 16).unwrap();
        prop_assert!(limiter.check(key(1), Presented::Absent, Nanos(begin)).passes());
        let now = begin + u64::try_from(u128::from(window) * u128::from(into) / 1000).unwrap();
        let Verdict::Refused(refusal) = limiter.check(key(1), Presented::Absent, Nanos(now)) else {
            // Within the last tick the window may be over.
            prop_assert!(into >= 999);
            return Ok(());
        };
        let then = now + refusal.retry_after.0;
        prop_assert!(then <= begin + window, "the wait is never longer than the window");
        prop_assert!(then >= begin + window - window / 1000, "nor shorter than 99.9 % of it");
        prop_assert!(!limiter.check(key(1), Presented::Absent, Nanos(then - 1)).passes());
        prop_assert!(limiter.check(key(1), Presented::Absent, Nanos(then)).passes());
    }

    // The table's size, the policy and strangers change nothing while there is room.
    #[test]
    fn a_static_table_and_a_boxed_one_agree(trace in vec((0u32..8, steps()), 1..100)) {
        let quota = Quota::per_minute(3);
        let fixed = Limiter::<16>::try_new(quota).unwrap();
        let boxed = BoxedLimiter::with_capacity(quota, 128).unwrap();
        let mut now = 0;
        for (caller, step) in trace {
            now += step * 60_000_000;
            let verdict = fixed.check(key(caller), Presented::Absent, Nanos(now));
            prop_assert_eq!(verdict, boxed.check(key(caller), Presented::Absent, Nanos(now)));
        }
    }
}

/// Differences between requests that no interval may exceed: the most that any interval of one enforced window
/// admits is 2 × limit.
#[test]
fn no_interval_of_a_window_admits_more_than_twice_the_limit() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let traces = vec(steps(), 1..200);
    runner
        .run(&(1u32..6, traces), |(limit, steps)| {
            let limiter = BoxedLimiter::with_capacity(Quota::per_second(limit), 16).unwrap();
            let window = limiter.enforced_window().0;
            let mut now = 0;
            let mut admitted = Vec::new();
            for step in steps {
                now += step * 1_000_000;
                if limiter.check(key(1), Presented::Absent, Nanos(now)).passes() {
                    admitted.push(now);
                }
            }
            let most = admitted
                .iter()
                .map(|&from| admitted.iter().filter(|&&at| at >= from && at < from + window).count())
                .max();
            prop_assert!(most.unwrap_or(0) <= 2 * limit as usize);
            Ok(())
        })
        .unwrap();
}
