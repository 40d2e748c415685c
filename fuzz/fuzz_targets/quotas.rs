//! One caller under any quota, against 128-bit arithmetic: what can be built, every decision, the most that an interval
//! admits, and clocks that jump anywhere.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tollgate::{BoxedLimiter, Key, Keyer, Nanos, Presented, QuotaError, Verdict};
use tollgate_fuzz::{Answer, Clock, EVER, Kind, Model, QuotaInput, Step};

#[derive(Arbitrary, Debug)]
struct Input {
    quota: QuotaInput,
    start: u64,
    requests: Vec<(Step, u32)>,
    jumps: Vec<u64>,
}

fuzz_target!(|input: Input| {
    let quota = input.quota.quota();
    assert_eq!(quota.validate().is_ok(), Model::fits(&input.quota), "{quota:?}: {:?}", quota.validate());
    match quota.validate() {
        Err(QuotaError::LimitTooLarge { largest } | QuotaError::BurstTooLarge { largest }) if largest > 0 => {
            let fits = |figure| input.quota.quota_with(figure).validate().is_ok();
            assert!(fits(largest), "not even {largest} fits {quota:?}");
            // A promise's burst changes its rate, and so how much fits; there the error names one that does.
            assert!(
                input.quota.kind() == Kind::AtMost || !fits(largest + 1),
                "more than {largest} fits {quota:?}"
            );
        }
        _ => {}
    }
    let Ok(limiter) = BoxedLimiter::with_capacity(quota, 16) else { return };
    trace(&input, &limiter);
    let Ok(limiter) = BoxedLimiter::with_capacity(quota, 16) else { return };
    jumps(&input, &limiter);
});

/// Every decision is the model's, and no interval admits more than the quota's documentation says.
fn trace(input: &Input, limiter: &BoxedLimiter) {
    let model = Model::new(&input.quota);
    let mut clock = Clock::new(limiter, input.start);
    let mut state = None;
    let mut admitted: Vec<(u64, u64)> = Vec::new();
    for &(step, cost) in &input.requests {
        if matches!(step, Step::Back(_)) {
            continue;
        }
        if clock.step(step) {
            limiter.sweep(clock.now());
        }
        let now = clock.now();
        // Half of the costs are small.
        let cost = if cost % 2 == 0 { cost % 16 } else { cost % limiter.limit().saturating_add(1) }.max(1);
        if cost > limiter.limit() {
            continue;
        }
        let verdict = limiter.check_n(key(), Presented::Absent, now, cost);
        let (expected, next) = model.check(state.unwrap_or(model.fresh(now)), now, cost);
        assert_eq!(answer(verdict), expected, "cost {cost} at {now:?} from {state:?} under {model:?}");
        state = Some(next);
        if verdict.passes() {
            admitted.push((now.0, cost.into()));
        }
    }
    let (most, length) = Model::bound(&input.quota, limiter.enforced_window());
    for (first, &(from, _)) in admitted.iter().enumerate() {
        let within = admitted[first..].iter().take_while(|&&(at, _)| at - from < length);
        let sum: u64 = within.map(|&(_, cost)| cost).sum();
        assert!(
            sum <= most,
            "{sum} in an interval of {length} ns from {from}, more than {most}, under {model:?}"
        );
    }
}

/// Wherever the clock jumps: nothing panics, nobody is locked out, and who waits as told passes.
fn jumps(input: &Input, limiter: &BoxedLimiter) {
    let window = u128::from(limiter.enforced_window().0);
    let longest = match Model::new(&input.quota) {
        Model::Fixed { .. } => window + (window / 128).max(SKEW),
        Model::Sliding { .. } => 3 * window,
        Model::Gcra { interval, shift, .. } => window + (window / 2).max(SKEW) + ((interval << shift) >> 40),
    };
    for &jump in &input.jumps {
        let now = Nanos(jump);
        let _ = limiter.check_n(key(), Presented::Absent, now, limiter.limit());
        if let Verdict::Refused(refusal) = limiter.check(key(), Presented::Absent, now) {
            let wait = refusal.retry_after;
            assert!(wait > Nanos::ZERO && u128::from(wait.0) <= longest, "{wait:?} of {longest} ns");
            // A wait that saturated is no promise.
            if let Some(then) = now.0.checked_add(wait.0).filter(|_| wait.0 < EVER) {
                let verdict = limiter.check(key(), Presented::Absent, Nanos(then));
                assert!(verdict.passes(), "waited {wait:?} from {now:?}: {verdict:?}");
            }
        }
    }
}

/// How far clocks may disagree, in nanoseconds, without a write back.
const SKEW: u128 = 100_000_000;

fn answer(verdict: Verdict) -> Answer {
    match verdict {
        Verdict::Admitted(standing) => {
            Answer::Admitted { remaining: standing.remaining, resets_in: standing.resets_in.0.min(EVER) }
        }
        Verdict::Refused(refusal) => Answer::Refused { retry_after: refusal.retry_after.0.min(EVER) },
        Verdict::Exempt(_) => panic!("nobody is exempt here"),
    }
}

fn key() -> Key {
    Keyer::new(*b"a seed for tests").bytes(b"caller")
}
