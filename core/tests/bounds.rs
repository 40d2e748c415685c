//! The most that any interval of one window admits, over all intervals, against the bound that `Quota` states for each
//! algorithm; and traces that meet the bound, so that it is no larger than it need be.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{BoxedLimiter, Key, Keyer, Nanos, Presented, Quota, Verdict};

const KEYER: Keyer = Keyer::new(*b"a seed for tests");
const SECOND: u64 = 1_000_000_000;

fn key(caller: u32) -> Key {
    KEYER.bytes(&caller.to_le_bytes())
}

/// One caller's requests, and what was admitted of them when.
struct Caller {
    limiter: BoxedLimiter,
    now: u64,
    admitted: Vec<(u64, u64)>,
}

impl Caller {
    fn new(quota: Quota, begin: u64) -> Self {
        let limiter = BoxedLimiter::with_capacity(quota, 16).unwrap();
        Self { limiter, now: begin, admitted: Vec::new() }
    }

    /// Asks for `cost`; the wait if it is refused.
    fn ask(&mut self, cost: u32) -> Option<u64> {
        match self.limiter.check_n(key(1), Presented::Absent, Nanos(self.now), cost) {
            Verdict::Admitted(_) => {
                self.admitted.push((self.now, cost.into()));
                None
            }
            Verdict::Refused(refusal) => Some(refusal.retry_after.0),
            Verdict::Exempt(_) => panic!("nobody is exempt here"),
        }
    }

    /// Asks until it is refused; the wait.
    fn exhaust(&mut self) -> u64 {
        loop {
            if let Some(wait) = self.ask(1) {
                return wait;
            }
        }
    }

    /// Takes all it gets until `end`, as early as it gets it.
    fn take_all_until(&mut self, end: u64) {
        loop {
            let wait = self.exhaust();
            if self.now + wait > end {
                return;
            }
            self.now += wait;
        }
    }

    /// The most that an interval of this length admitted, both of its ends included. An interval with the most begins
    /// with a request.
    fn most_in_any(&self, length: u64) -> u64 {
        let from =
            |from: u64| self.admitted.iter().filter(move |(at, _)| (from..=from + length).contains(at));
        self.admitted.iter().map(|&(at, _)| from(at).map(|(_, cost)| cost).sum()).max().unwrap_or(0)
    }
}

/// A quota, the window of its bound and the bound, as documented.
type Bounded = (Quota, u64, u64);

fn fixed(limit: u32, window: u64) -> Bounded {
    let quota = Quota::new(limit, Nanos(window));
    (quota, enforced(quota), 2 * u64::from(limit))
}

fn sliding(limit: u32, window: u64) -> Bounded {
    let quota = Quota::new(limit, Nanos(window)).sliding();
    (quota, enforced(quota), 2 * u64::from(limit))
}

fn gcra(limit: u32, window: u64, burst: u32) -> Bounded {
    (Quota::new(limit, Nanos(window)).burst(burst), window, u64::from(limit) + u64::from(burst))
}

fn promise(limit: u32, window: u64, burst: u32) -> Bounded {
    (Quota::at_most(limit).in_any(Nanos(window)).burst(burst), window, limit.into())
}

fn enforced(quota: Quota) -> u64 {
    BoxedLimiter::with_capacity(quota, 16).unwrap().enforced_window().0
}

fn quotas() -> impl Strategy<Value = Bounded> {
    let windows = || prop_oneof![Just(SECOND), 2048u64..100_000, 2048u64..1 << 50];
    prop_oneof![
        (1u32..9, windows()).prop_map(|(limit, window)| fixed(limit, window)),
        (1u32..9, windows()).prop_map(|(limit, window)| sliding(limit, window)),
        (1u32..9, windows(), 1u32..9).prop_map(|(limit, window, burst)| gcra(limit, window, burst)),
        (2u32..18, windows(), 1u32..17).prop_map(|(limit, window, burst)| promise(
            limit,
            window,
            burst.min(limit - 1)
        )),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// By so many thousandths of a window.
    Windows(u64),
    /// As told, less so many nanoseconds.
    AsTold(u64),
    /// To a window after the first request, or the next multiple of it, less so many nanoseconds.
    Boundary(u64),
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Windows(0)),
        2 => (0u64..1200).prop_map(Step::Windows),
        4 => (0u64..2).prop_map(Step::AsTold),
        2 => (0u64..3).prop_map(Step::Boundary),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

    #[test]
    fn no_interval_of_a_window_admits_more_than_the_bound(
        (quota, window, bound) in quotas(),
        begin in 0u64..1 << 60,
        trace in vec((steps(), prop_oneof![3 => Just(1), 1 => 1u32..9], 1usize..12), 1..60),
    ) {
        let mut caller = Caller::new(quota, begin);
        let mut wait = 0;
        for (step, cost, times) in trace {
            caller.now += match step {
                Step::Windows(by) => u64::try_from(u128::from(window) * u128::from(by) / 1000).unwrap(),
                Step::AsTold(less) => wait - less.min(wait),
                Step::Boundary(less) => window - (caller.now - begin + less) % window,
            };
            for _ in 0..times {
                // A cost above the limit has no wait that helps.
                wait = caller.ask(cost).filter(|&wait| wait < u64::MAX).unwrap_or(0);
            }
        }
        let most = caller.most_in_any(window);
        prop_assert!(most <= bound, "{quota:?} admits {most} in a window, more than {bound}");
    }
}

/// The limit just before the end of a window and again after it.
#[test]
fn a_fixed_window_admits_twice_the_limit() {
    for (limit, window) in [(1, SECOND), (7, SECOND), (300, 60 * SECOND), (1000, 2048)] {
        let (quota, length, bound) = fixed(limit, window);
        let mut caller = Caller::new(quota, 12_345_678_901);
        let _ = caller.ask(1);
        caller.now += length - length / 1000;
        caller.now += caller.exhaust();
        caller.exhaust();
        // The one that began the window is nearly a window ago, unless it is all there is.
        assert!(caller.most_in_any(length) >= bound - 1, "{quota:?}: {}", caller.most_in_any(length));
    }
    // Where a request comes late in its tick, its window ends a little less than a window later.
    let (quota, length, bound) = fixed(7, SECOND);
    let mut caller = Caller::new(quota, 10_000 * length + 1000);
    caller.now += caller.exhaust();
    caller.exhaust();
    assert_eq!(caller.most_in_any(length), bound);
}

/// All at the end of a window, and then whatever comes into sight.
#[test]
fn a_sliding_window_admits_twice_the_limit() {
    for (limit, window) in [(1, SECOND), (7, SECOND), (300, 60 * SECOND), (3000, 1 << 30)] {
        let (quota, length, bound) = sliding(limit, window);
        let end = 1000 * length;
        let mut caller = Caller::new(quota, end - 1);
        caller.take_all_until(end + length - 2);
        assert_eq!(caller.most_in_any(length), bound, "{quota:?}");
    }
}

/// With even traffic no interval of a window holds more than the limit, and one.
#[test]
fn a_sliding_window_admits_the_limit_of_even_traffic() {
    let (quota, length, _) = sliding(100, SECOND);
    let mut caller = Caller::new(quota, 0);
    for request in 0..10_000 {
        // A hundredth of the window apart, and a little less.
        caller.now = request * (length / 101);
        let _ = caller.ask(1);
    }
    assert!(caller.admitted.len() > 9_000);
    assert!(caller.most_in_any(length - 1) <= 101, "{}", caller.most_in_any(length - 1));
}

/// The burst, and then one an interval.
#[test]
fn gcra_meets_its_bound() {
    // An interval of these has a power of two of nanoseconds, so that none is lost by rounding.
    for (limit, burst) in [(1, 1), (1, 9), (8, 1), (64, 64), (2048, 3)] {
        let window = u64::from(limit) << 20;
        let (quota, length, bound) = gcra(limit, window, burst);
        let mut caller = Caller::new(quota, 1 << 40);
        caller.take_all_until((1 << 40) + length);
        assert_eq!(caller.most_in_any(length), bound, "{quota:?}");

        let (quota, length, bound) = promise(limit + burst, window, burst);
        let mut caller = Caller::new(quota, 1 << 40);
        caller.take_all_until((1 << 40) + length);
        assert_eq!(caller.most_in_any(length), bound, "{quota:?}");
    }
    // With others it is one less, and 0.1 % of the rate.
    for (limit, burst) in [(3, 2), (300, 50), (999, 1), (9001, 3)] {
        let (quota, length, bound) = promise(limit, 60 * SECOND, burst);
        let mut caller = Caller::new(quota, 1 << 40);
        caller.take_all_until((1 << 40) + length);
        let most = caller.most_in_any(length);
        let lost = 1 + u64::from(limit - burst) / 1000;
        assert!((bound - lost..=bound).contains(&most), "{quota:?}: {most} of {bound}");
    }
}

/// Two threads whose clocks disagree by d take turns. Abuse 17: what they get between them is what one clock would
/// give in a time that is d longer.
#[test]
fn clocks_that_disagree_give_no_more_than_one_that_is_ahead() {
    const DISAGREEMENT: u64 = 10_000_000;
    const TURNS: u64 = 100_000;
    let quotas = [
        (fixed(1000, SECOND), 1000),
        (sliding(1000, SECOND), 1000),
        (gcra(1000, SECOND, 100), 1000),
        (gcra(10_000, SECOND, 10_000), 10_000),
        (promise(1100, SECOND, 100), 1000),
    ];
    let mut exceeded = Vec::new();
    for ((quota, window, bound), rate) in quotas {
        let mut caller = Caller::new(quota, 0);
        let began = 100 * SECOND;
        for turn in 0..TURNS {
            let now = began + turn * 100_000;
            let ahead = if turn % 2 == 0 { 0 } else { DISAGREEMENT };
            for _ in 0..20 {
                caller.now = now + ahead;
                let admitted = caller.ask(1).is_none();
                if admitted {
                    // What counts is when it was, by a clock that is right.
                    caller.admitted.last_mut().unwrap().0 = now;
                }
            }
        }
        let total: u64 = caller.admitted.iter().map(|(_, cost)| cost).sum();
        let lasted = TURNS * 100_000;
        let most = bound + rate * (lasted / window + 1);
        if total > most {
            exceeded.push(format!("{quota:?}: {total} in {} s, at most {most}", lasted / SECOND));
        }
    }
    assert!(exceeded.is_empty(), "{exceeded:#?}");
}
