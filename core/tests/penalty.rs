//! The penalty: who is refused too often is out for longer, and for exactly as long as it is told.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use hashbrown::HashMap;
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{
    BoxedLimiter, BoxedPenalty, Credentials, FixedPenalty, Key, Keyer, Nanos, Presented, Quota, QuotaError,
    Reason, Refusal, Verdict,
};

const KEYER: Keyer = Keyer::new(*b"a seed for tests");
const SECOND: u64 = 1_000_000_000;
const MINUTE: Nanos = Nanos::from_secs(60);
const HOUR: Nanos = Nanos::from_secs(3600);
const NOW: Nanos = Nanos::from_secs(100_000);

fn key(caller: u64) -> Key {
    KEYER.bytes(&caller.to_le_bytes())
}

fn penalty(strikes: u32, period: Nanos, out: Nanos) -> BoxedPenalty {
    BoxedPenalty::with_capacity(strikes, period, out, 64).unwrap()
}

/// Each caller's first strike and their number, or when it came out, in 128 bits. Ticks as documented with a fixed
/// window, of the shorter of the two times.
struct Oracle {
    strikes: u32,
    tick: u128,
    period: u128,
    out: u128,
    callers: HashMap<u64, (u128, u32)>,
}

impl Oracle {
    fn new(strikes: u32, period: Nanos, out: Nanos) -> Self {
        let (period, out) = (u128::from(period.0), u128::from(out.0));
        let mut tick = 1;
        while period.min(out) / (tick * 2) >= 2048 {
            tick *= 2;
        }
        let (period, out) = (period.div_ceil(tick) * tick, out / tick * tick);
        Self { strikes, tick, period, out, callers: HashMap::new() }
    }

    /// The time until a caller is in again; none if it is in.
    fn out(&self, caller: u64, now: Nanos) -> Option<u128> {
        let &(start, strikes) = self.callers.get(&caller)?;
        let ends = start + self.out;
        (strikes >= self.strikes && u128::from(now.0) < ends).then(|| ends - u128::from(now.0))
    }

    fn strike(&mut self, caller: u64, now: Nanos) -> Option<u128> {
        if let Some(wait) = self.out(caller, now) {
            return Some(wait);
        }
        let tick = u128::from(now.0) / self.tick * self.tick;
        let (start, strikes) = self.callers.entry(caller).or_insert((tick, 0));
        if *strikes >= self.strikes || u128::from(now.0) >= *start + self.period {
            (*start, *strikes) = (tick, 0);
        }
        *strikes += 1;
        if *strikes == self.strikes {
            *start = tick;
        }
        self.out(caller, now)
    }
}

fn wait(refusal: Option<Refusal>) -> Option<u128> {
    refusal.map(|refusal| {
        assert_eq!(refusal.reason, Reason::Penalty);
        refusal.retry_after.0.into()
    })
}

/// Lengths of the period and of the time out, neither much longer than the other.
fn times() -> impl Strategy<Value = (u64, u64)> {
    let length = || prop_oneof![Just(2048), Just(60 * SECOND), 2048u64..1 << 45];
    prop_oneof![
        (length(), 1u64..100, 1u64..100).prop_map(|(length, by, and)| (length * by, length * and)),
        length().prop_map(|length| (length, length)),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Periods(u64),
    Outs(u64),
    /// By the wait that was told last, less so many nanoseconds.
    AsTold(u64),
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Periods(0)),
        2 => (0u64..1100).prop_map(Step::Periods),
        1 => (0u64..1100).prop_map(Step::Outs),
        3 => (0u64..2).prop_map(Step::AsTold),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10_000) })]

    #[test]
    fn agrees_with_a_map_of_strikes(
        (period, out) in times(),
        strikes in 1u32..6,
        trace in vec((0u64..3, steps(), any::<bool>()), 1..80),
    ) {
        let (period, out) = (Nanos(period), Nanos(out));
        let penalty = penalty(strikes, period, out);
        let mut oracle = Oracle::new(strikes, period, out);
        let (mut now, mut told) = (NOW, 0);
        for (caller, step, look) in trace {
            now = now.saturating_add(match step {
                Step::Periods(by) => Nanos(period.0 / 1000 * by),
                Step::Outs(by) => Nanos(out.0 / 1000 * by),
                Step::AsTold(less) => Nanos(told - less.min(told)),
            });
            let (answered, expected) = if look {
                (wait(penalty.out(key(caller), now)), oracle.out(caller, now))
            } else {
                (wait(penalty.strike(key(caller), now)), oracle.strike(caller, now))
            };
            prop_assert_eq!(answered, expected);
            told = answered.map_or(0, |wait| u64::try_from(wait).unwrap());
        }
    }
}

fn check(limiter: &BoxedLimiter, penalty: &BoxedPenalty, caller: u64, now: Nanos) -> Verdict {
    limiter.check_with_penalty(penalty, key(caller), Presented::Absent, now)
}

/// Abuse 30: the wait is the one that is enforced, of the limiter's refusals and of the penalty's.
#[test]
fn the_advertised_wait_is_the_enforced_one() {
    for quota in [Quota::per_minute(5), Quota::per_minute(5).sliding(), Quota::per_minute(5).burst(5)] {
        let limiter = BoxedLimiter::with_capacity(quota, 64).unwrap();
        let penalty = penalty(3, MINUTE, HOUR);
        assert_eq!((0..5).filter(|_| check(&limiter, &penalty, 1, NOW).passes()).count(), 5);
        let refusals: Vec<_> = (0..4)
            .map(|_| match check(&limiter, &penalty, 1, NOW) {
                Verdict::Refused(refusal) => refusal,
                other => panic!("not refused: {other:?}"),
            })
            .collect();
        assert_eq!(refusals[1].reason, Reason::OverLimit);
        assert!(refusals[1].retry_after <= MINUTE);
        for out in &refusals[2..] {
            assert_eq!((out.reason, out.limit), (Reason::Penalty, 5), "out with the third");
            assert!(out.retry_after <= HOUR && out.retry_after.0 * 1000 >= HOUR.0 * 999);
        }
        // Trying all the time makes it no longer, and what the limiter counts is forgotten meanwhile.
        let back = NOW.saturating_add(refusals[3].retry_after);
        for early in [MINUTE.0, 2 * MINUTE.0, HOUR.0 / 2, refusals[3].retry_after.0 - 1] {
            let early = NOW.saturating_add(Nanos(early));
            let Verdict::Refused(refusal) = check(&limiter, &penalty, 1, early) else { panic!("in early") };
            assert_eq!(early.saturating_add(refusal.retry_after), back);
        }
        assert!(check(&limiter, &penalty, 1, back).passes(), "{quota:?}");
        assert!(check(&limiter, &penalty, 2, NOW).passes(), "nobody else is out");
    }
}

#[test]
fn strikes_of_a_past_period_don_t_count() {
    let penalty = penalty(3, MINUTE, HOUR);
    for minutes in 0..20 {
        let now = NOW.saturating_add(Nanos(minutes * 61 * SECOND));
        assert_eq!((penalty.strike(key(1), now), penalty.strike(key(1), now)), (None, None));
    }
}

#[test]
fn a_pardon_takes_all_strikes() {
    let penalty = penalty(2, MINUTE, HOUR);
    assert!(!penalty.pardon(key(1), NOW), "it had none");
    assert_eq!(penalty.strike(key(1), NOW), None);
    assert!(penalty.strike(key(1), NOW).is_some() && penalty.strike(key(2), NOW).is_none());
    assert!(penalty.pardon(key(1), NOW));
    assert_eq!((penalty.out(key(1), NOW), penalty.strike(key(1), NOW)), (None, None), "it begins afresh");
    assert!(penalty.strike(key(2), NOW).is_some(), "the other's first strike still counts");
}

/// Only refusals of one's own count count: not those of a cost above the limit, which is a mistake and no insistence,
/// and not a service's own requests.
#[test]
fn what_is_no_strike() {
    let credentials = Credentials::<1>::new().with("edge", b"sixteen or more bytes").unwrap();
    let limiter = BoxedLimiter::with_capacity(Quota::per_minute(1), 64).unwrap();
    let penalty = penalty(1, MINUTE, HOUR);
    let _ = limiter.check_n(key(1), Presented::Absent, NOW, 2);
    assert!(check(&limiter, &penalty, 1, NOW).passes());
    assert!(!check(&limiter, &penalty, 1, NOW).passes());
    assert!(penalty.out(key(1), NOW).is_some());
    let own = credentials.verify(Some(b"sixteen or more bytes"));
    assert!(matches!(limiter.check_with_penalty(&penalty, key(1), own, NOW), Verdict::Exempt(_)));
    // A forgery is a request like any other.
    let forged = credentials.verify(Some(b"another one"));
    assert!(!limiter.check_with_penalty(&penalty, key(1), forged, NOW).passes());
}

/// Sixteen slots and as many callers with strikes: a seventeenth is not out for what another did, and displaces nobody.
#[test]
fn a_full_table_puts_nobody_out_for_another() {
    let penalty = BoxedPenalty::with_capacity(2, MINUTE, HOUR, 16).unwrap();
    for caller in 0..16 {
        assert_eq!(penalty.strike(key(caller), NOW), None);
        assert!(penalty.strike(key(caller), NOW).is_some());
    }
    for newcomer in 100..1000 {
        assert!((0..5).all(|_| penalty.strike(key(newcomer), NOW).is_none()));
        assert_eq!(penalty.out(key(newcomer), NOW), None);
    }
    assert!((0..16).all(|caller| penalty.out(key(caller), NOW).is_some()), "nobody is let in by a flood");
    assert_eq!(penalty.counts().refused_by_overflow, 900 * 5);
    // When their time is over there is room.
    let later = NOW.saturating_add(HOUR);
    assert_eq!(penalty.strike(key(100), later), None);
    assert!(penalty.strike(key(100), later).is_some());
    assert_eq!(penalty.sweep(later), 15);
}

#[test]
fn figures_that_can_t_be_enforced_are_refused() {
    let error = |strikes, period, out| FixedPenalty::<2>::try_new(strikes, period, out).err().unwrap();
    assert_eq!(error(0, MINUTE, HOUR), QuotaError::ZeroLimit);
    assert_eq!(error(1, Nanos::ZERO, HOUR), QuotaError::ZeroWindow);
    assert_eq!(error(1, MINUTE, Nanos::ZERO), QuotaError::ZeroWindow);
    assert_eq!(error(1, MINUTE, Nanos(2047)), QuotaError::WindowTooShort { shortest: Nanos(2048) });
    let longest = Nanos(MINUTE.0 << 20);
    assert_eq!(error(1, MINUTE, longest.saturating_add(Nanos(1))), QuotaError::WindowTooLong { longest });
    assert!(FixedPenalty::<2>::try_new(1, MINUTE, longest).is_ok(), "a minute and two years");
    assert!(matches!(error(u32::MAX, MINUTE, HOUR), QuotaError::LimitTooLarge { .. }));
}
