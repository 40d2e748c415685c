//! GCRA against arithmetic in 128 bits.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

mod support;

use hashbrown::HashMap;
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{BoxedLimiter, Key, Nanos, Presented, Quota, QuotaError, Reason, Verdict};

use support::windows;

/// Each caller has a home slot of its own: over a stranger's word of the same tick a newcomer's time would be a tick
/// later, which is the table's affair and not GCRA's.
fn key(caller: u64) -> Key {
    Key::from_fingerprint((caller + 1) << 37 | caller)
}

/// Times of the oracle are in grains of 2⁻⁴⁰ ns, so that the shortest interval has whole ones.
const GRAIN_BITS: u32 = 40;

/// The theoretical arrival time of each caller, on ticks as documented: a tick is the largest power of two (of a
/// nanosecond, or a part of one) of which an interval, rounded up, has 1,024 or more.
struct Oracle {
    tick: u128,
    interval: u128,
    burst: u32,
    callers: HashMap<u64, u128>,
}

#[derive(PartialEq, Eq, Debug)]
enum Answer {
    Admitted { remaining: u128, resets_in: u64 },
    Refused { retry_after: u64 },
    TooDear,
}

impl Oracle {
    fn new(rate: u32, window: u64, burst: u32) -> Self {
        let (window, rate) = (u128::from(window) << GRAIN_BITS, u128::from(rate));
        let ticks = |tick: u128| window.div_ceil(rate * tick);
        let mut tick = 1;
        while ticks(tick * 2) >= 1024 {
            tick *= 2;
        }
        Self { tick, interval: ticks(tick) * tick, burst, callers: HashMap::new() }
    }

    fn leeway(&self) -> u128 {
        self.interval / self.tick / 256 * self.tick
    }

    fn check(&mut self, caller: u64, now: u64, cost: u32) -> Answer {
        let exactly = u128::from(now) << GRAIN_BITS;
        let now = exactly / self.tick * self.tick;
        let arrival = self.callers.get(&caller).copied().unwrap_or(0).max(now);
        let most = u128::from(self.burst) * self.interval + self.leeway();
        let charged = arrival + u128::from(cost) * self.interval;
        let until =
            |time: u128| told(u64::try_from((time - exactly).div_ceil(1 << GRAIN_BITS)).unwrap_or(u64::MAX));
        if cost > self.burst {
            Answer::TooDear
        } else if charged <= now + most {
            if cost > 0 {
                self.callers.insert(caller, charged);
            }
            Answer::Admitted {
                remaining: (now + most - charged) / self.interval,
                // Who owes nothing has everything already.
                resets_in: if charged == now { 0 } else { until(charged) },
            }
        } else {
            Answer::Refused { retry_after: until(charged - most) }
        }
    }
}

/// A span as it is compared: what is longer than 292 years may be told as any span that is.
fn told(span: u64) -> u64 {
    span.min(LONGEST)
}

const LONGEST: u64 = 1 << 63;

fn answer(verdict: Verdict) -> Answer {
    match verdict {
        Verdict::Admitted(standing) => {
            Answer::Admitted { remaining: standing.remaining.into(), resets_in: told(standing.resets_in.0) }
        }
        Verdict::Refused(refusal) if refusal.reason == Reason::CostAboveLimit => {
            assert_eq!(refusal.retry_after, Nanos::MAX);
            Answer::TooDear
        }
        Verdict::Refused(refusal) => {
            assert_eq!(refusal.reason, Reason::OverLimit);
            Answer::Refused { retry_after: told(refusal.retry_after.0) }
        }
        Verdict::Exempt(_) => panic!("nobody is exempt here"),
    }
}

fn figures() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 1u32..8, 2 => 1u32..100_000, 1 => 1u32..]
}

/// A quota that can be enforced, with its rate and its burst. A burst that is too large becomes the largest that fits.
fn quotas() -> impl Strategy<Value = (Quota, u32, u32)> {
    (windows(), figures(), figures(), any::<bool>()).prop_map(|(window, rate, burst, promise)| {
        let quota = |burst: u32| match rate.checked_add(burst).filter(|_| promise) {
            Some(limit) => Quota::at_most(limit).in_any(Nanos(window)).burst(burst),
            None => Quota::new(rate, Nanos(window)).burst(burst),
        };
        match quota(burst).validate() {
            Err(QuotaError::BurstTooLarge { largest }) => (quota(largest), rate, largest),
            other => {
                other.unwrap();
                (quota(burst), rate, burst)
            }
        }
    })
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// By so many thousandths of an interval.
    Intervals(u128),
    /// By so many thousandths of the time in which a whole burst is paid.
    Bursts(u128),
    /// By so many quarters of the ring of times.
    Quarters(u64),
    /// By the wait that was told last, less so many nanoseconds.
    AsTold(u64),
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Intervals(0)),
        3 => (0u128..3000).prop_map(Step::Intervals),
        2 => (0u128..2000).prop_map(Step::Bursts),
        1 => (0u64..9).prop_map(Step::Quarters),
        4 => (0u64..2).prop_map(Step::AsTold),
    ]
}

/// Costs in thousandths of the burst, or single requests, or none; some above the burst.
fn costs() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![3 => Just(None), 2 => (0u64..1100).prop_map(Some)]
}

fn begins() -> impl Strategy<Value = u64> {
    // The last of these is where rings of times of many sizes begin anew.
    prop_oneof![Just(0), any::<u32>().prop_map(u64::from), Just(u64::MAX / 2)]
}

fn cases() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10_000) }
}

proptest! {
    #![proptest_config(cases())]

    // Abuse 19 and 28: a batch of n costs n, and no rounding turns the limit off.
    #[test]
    fn agrees_with_arithmetic_in_128_bits(
        (quota, rate, burst) in quotas(),
        begin in begins(),
        trace in vec((0u64..4, costs(), steps()), 1..60),
    ) {
        let limiter = BoxedLimiter::with_capacity(quota, 64).unwrap();
        let mut oracle = Oracle::new(rate, quota.window().0, burst);
        prop_assert_eq!(limiter.limit(), burst);
        let (mut now, mut swept, mut wait) = (begin, begin, 0);
        let sweep_interval = limiter.sweep_interval().0;
        for (caller, cost, step) in trace {
            let nanos = match step {
                Step::Intervals(by) => (oracle.interval * by / 1000) >> GRAIN_BITS,
                Step::Bursts(by) => (oracle.interval * u128::from(burst) / 1000 * by) >> GRAIN_BITS,
                Step::Quarters(by) => u128::from(sweep_interval) * u128::from(by),
                Step::AsTold(less) => u128::from(wait).saturating_sub(less.into()),
            };
            now = now.saturating_add(u64::try_from(nanos).unwrap_or(u64::MAX));
            // A ring has four whole bursts or more, so that steps of two take few sweeps.
            while now - swept > sweep_interval {
                swept += sweep_interval;
                limiter.sweep(Nanos(swept));
            }
            let cost = cost.map_or(1, |share| u32::try_from(share * u64::from(burst) / 1000).unwrap());
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
        (quota, _, burst) in quotas(),
        begin in 0..u64::MAX / 4,
        share in 1u64..=1000,
    ) {
        let limiter = BoxedLimiter::with_capacity(quota, 16).unwrap();
        let check = |now, cost| limiter.check_n(key(1), Presented::Absent, Nanos(now), cost);
        let cost = u32::try_from((u64::from(burst) * share).div_ceil(1000)).unwrap();
        prop_assert!(check(begin, burst).passes());
        let Verdict::Refused(refusal) = check(begin, cost) else { panic!("twice the burst passed") };
        // Waits that don't fit are told as the longest that can be written.
        let Some(then) = begin.checked_add(refusal.retry_after.0).filter(|_| refusal.retry_after.0 < LONGEST) else {
            return Ok(());
        };
        prop_assert!(!check(then - 1, cost).passes());
        prop_assert!(check(then, cost).passes());
    }
}
