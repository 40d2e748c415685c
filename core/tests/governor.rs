//! GCRA against the crate `governor`, with its clock in our hands.
//!
//! They differ in this, and in nothing else:
//!
//! 1. A request may come 1/256 of an interval early, because rule 6 of the table may put a newcomer's time some ticks
//!    ahead, and nobody is to be refused for that. So waits are told shorter by just that.
//! 2. An interval is rounded up to whole ticks, up to 0.1 %; governor's is rounded down to nanoseconds.
//! 3. Times are cut to ticks, under 1/1024 of an interval.
//! 4. A cost above the burst is a refusal with a reason; governor's `check_n` has an error for it.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use core::num::NonZeroU32;
use core::time::Duration;

use governor::RateLimiter;
use governor::clock::{Clock, FakeRelativeClock};
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{BoxedLimiter, Key, Keyer, Nanos, Presented, Quota, Reason, Verdict};

const KEYER: Keyer = Keyer::new(*b"a seed for tests");

fn key() -> Key {
    KEYER.bytes(b"caller")
}

/// Governor's limiter with a clock in our hands.
struct Governor {
    limiter: RateLimiter<NotKeyed, InMemoryState, FakeRelativeClock, NoOpMiddleware<governor::nanos::Nanos>>,
    clock: FakeRelativeClock,
}

impl Governor {
    fn new(interval: u64, burst: u32) -> Self {
        let quota = governor::Quota::with_period(Duration::from_nanos(interval)).unwrap();
        let quota = quota.allow_burst(NonZeroU32::new(burst).unwrap());
        let clock = FakeRelativeClock::default();
        Self { limiter: RateLimiter::direct_with_clock(quota, clock.clone()), clock }
    }

    fn advance(&self, nanos: u64) {
        self.clock.advance(Duration::from_nanos(nanos));
    }

    /// The wait until `cost` passes; zero if it has passed.
    fn wait(&self, cost: u32) -> u64 {
        let answer = self.limiter.check_n(NonZeroU32::new(cost).unwrap()).unwrap();
        answer.map_or_else(
            |not| u64::try_from(not.wait_time_from(self.clock.now()).as_nanos()).unwrap(),
            |()| 0,
        )
    }
}

/// The wait until `cost` passes; zero if it has passed.
fn wait(limiter: &BoxedLimiter, now: u64, cost: u32) -> u64 {
    match limiter.check_n(key(), Presented::Absent, Nanos(now), cost) {
        Verdict::Admitted(_) => 0,
        Verdict::Refused(refusal) => refusal.retry_after.0,
        Verdict::Exempt(_) => panic!("nobody is exempt here"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10_000) })]

    // Where an interval is a whole number of ticks and all times lie on a grid coarser than 1/256 of it, only the told
    // waits differ, and by exactly that.
    #[test]
    fn decides_as_governor_on_a_grid(
        (grid_bits, grids) in (4u32..40, 128u64..256),
        burst in prop_oneof![1u32..6, 1u32..2000],
        trace in vec((prop_oneof![3 => Just(0), 3 => 0u64..300, 1 => 0u64..30_000], 1u32..8), 1..80),
    ) {
        let grid = 1 << grid_bits;
        // 128 to 255 grids of 8 ticks each.
        let interval = grid * grids;
        let tick = grid / 8;
        let leeway = interval / tick / 256 * tick;
        let limiter = BoxedLimiter::with_capacity(Quota::new(1, Nanos(interval)).burst(burst), 16).unwrap();
        let governor = Governor::new(interval, burst);
        let mut now = 0;
        for (step, cost) in trace {
            now += step * grid;
            governor.advance(step * grid);
            let cost = cost.min(burst);
            prop_assert_eq!(wait(&limiter, now, cost), governor.wait(cost).saturating_sub(leeway));
        }
    }

    // Off the grid: until the two first differ, tollgate refuses nothing that governor admits, and admits what
    // governor would have admitted within 1/256 of an interval and a tick.
    #[test]
    fn differs_from_governor_by_the_leeway_only(
        interval in prop_oneof![2048u64..1 << 40, (11u32..40).prop_map(|bits| (1 << bits) + 1)],
        burst in prop_oneof![1u32..6, 1u32..2000],
        trace in vec((prop_oneof![1 => Just(0), 3 => 0u64..300, 1 => 0u64..30_000, 2 => 120u64..136], 1u32..8), 1..80),
    ) {
        let limiter = BoxedLimiter::with_capacity(Quota::new(1, Nanos(interval)).burst(burst), 16).unwrap();
        // The same interval for both, so that roundings of it don't add up.
        let mut tick = 1;
        while interval.div_ceil(tick * 2) >= 1024 {
            tick *= 2;
        }
        let interval = interval.div_ceil(tick) * tick;
        let governor = Governor::new(interval, burst);
        let mut now = 0;
        for (step, cost) in trace {
            let step = u64::try_from(u128::from(interval) * u128::from(step) / 128).unwrap();
            now += step;
            governor.advance(step);
            let cost = cost.min(burst);
            let (ours, theirs) = (wait(&limiter, now, cost), governor.wait(cost));
            if ours == 0 && theirs > 0 {
                prop_assert!(theirs < interval / 256 + tick, "{theirs} ns early");
                return Ok(());
            }
            prop_assert_eq!(ours > 0, theirs > 0);
            prop_assert!(ours <= theirs && theirs <= ours + interval / 256 + tick, "{ours} and {theirs}");
        }
    }
}

/// The same quotas as governor writes them: a greedy caller is never faster than governor's but for the leeway, which
/// it can use once, and no more than 0.1 % slower.
#[test]
fn is_as_fast_as_governor_to_a_thousandth() {
    const REQUESTS: u64 = 3000;
    for (rate, burst) in [(1, 1), (3, 1), (7, 7), (10, 3), (300, 50), (999, 999), (4096, 10), (10_007, 100)] {
        let limiter = BoxedLimiter::with_capacity(Quota::per_second(rate).burst(burst), 16).unwrap();
        let interval = 1_000_000_000 / u64::from(rate);
        let governor = Governor::new(interval, burst);
        let (mut ours, mut theirs) = (0, 0);
        for _ in 0..REQUESTS {
            while let told @ 1.. = wait(&limiter, ours, 1) {
                ours += told;
            }
            while let told @ 1.. = governor.wait(1) {
                governor.advance(told);
                theirs += told;
            }
        }
        assert!(ours + interval / 200 >= theirs, "{rate}: {ours} ns, governor {theirs} ns");
        assert!(ours * 1000 <= theirs * 1001, "{rate}: {ours} ns, governor {theirs} ns");
    }
}

#[test]
fn a_cost_above_the_burst_is_refused_by_both() {
    let limiter = BoxedLimiter::with_capacity(Quota::per_second(10).burst(5), 16).unwrap();
    let governor = Governor::new(100_000_000, 5);
    let Verdict::Refused(refusal) = limiter.check_n(key(), Presented::Absent, Nanos::ZERO, 6) else {
        panic!()
    };
    assert_eq!(refusal.reason, Reason::CostAboveLimit);
    assert!(governor.limiter.check_n(NonZeroU32::new(6).unwrap()).is_err());
    assert_eq!((wait(&limiter, 0, 5), governor.wait(5)), (0, 0), "neither has counted it");
}
