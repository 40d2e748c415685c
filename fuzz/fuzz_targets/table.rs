//! Operations on a small table against a map of callers, one thread, any quota, any times, any policy.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tollgate::{BoxedLimiter, Credentials, Nanos, Overflow, Presented, Verdict};
use tollgate_fuzz::{Clock, Oracle, QuotaInput, Step, key};

#[derive(Arbitrary, Debug)]
struct Input {
    quota: QuotaInput,
    overflow: Policy,
    lines: u8,
    /// More callers than candidates.
    crowded: bool,
    start: u64,
    operations: Vec<(Step, Operation)>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Policy {
    Inherit,
    Forget,
    Refuse,
    Admit,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Operation {
    Check(u8, Cost),
    /// One request of each of so many callers.
    Round(u8),
    /// Requests until one is refused.
    Exhaust(u8),
    Peek(u8),
    Exempt(u8),
    Refund(u8),
    Clear(u8),
    Sweep,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Cost {
    One,
    Small(u8),
    Part(u8),
    Limit,
    Any(u32),
}

const SECRET: &[u8] = b"the secret of a service";

fuzz_target!(|input: Input| {
    let quota = input.quota.quota();
    let capacity = 16 << (input.lines % 3);
    let Ok(limiter) = BoxedLimiter::with_capacity(quota, capacity) else { return };
    let overflow = match input.overflow {
        Policy::Inherit => Overflow::Inherit,
        Policy::Forget => Overflow::Forget,
        Policy::Refuse => Overflow::Refuse,
        Policy::Admit => Overflow::Admit,
    };
    let limiter = limiter.with_overflow(overflow);
    let mut oracle = Oracle::new(&input.quota, overflow);
    let mut clock = Clock::new(&limiter, input.start);
    let callers = if input.crowded { 64 } else { 16 };
    for (step, operation) in input.operations {
        let before = clock.now();
        let sweep = clock.step(step);
        let now = clock.now();
        if now < before {
            oracle.clock_fell_back();
        }
        oracle.forget_the_idle(now);
        if sweep {
            limiter.sweep(now);
            oracle.settle_all(now, false);
        }
        match operation {
            Operation::Check(caller, cost) => {
                oracle.check(&limiter, caller % callers, now, cost.of(limiter.limit()))
            }
            Operation::Round(most) => {
                (0..most % callers).for_each(|caller| oracle.check(&limiter, caller, now, 1))
            }
            Operation::Exhaust(caller) => {
                oracle.check(&limiter, caller % callers, now, limiter.limit());
                (0..8).for_each(|_| oracle.check(&limiter, caller % callers, now, 1));
            }
            Operation::Peek(caller) => oracle.peek(&limiter, caller % callers, now),
            Operation::Exempt(caller) => exempt(&limiter, caller % callers, now),
            Operation::Refund(which) => oracle.refund(&limiter, which, now),
            Operation::Clear(caller) => oracle.clear(&limiter, caller % callers, now),
            Operation::Sweep => {
                limiter.sweep(now);
                oracle.settle_all(now, false);
            }
        }
    }
    let (counts, occupancy) = (limiter.counts(), limiter.occupancy(clock.now()));
    assert_eq!((counts.withdrawn, counts.contended), (0, 0), "one thread contends with nobody");
    assert!(occupancy.restraining + occupancy.idle <= occupancy.capacity);
});

fn exempt(limiter: &BoxedLimiter, id: u8, now: Nanos) {
    let own = Credentials::<1>::new().with("edge", SECRET);
    let presented = own.as_ref().map(|own| own.verify(Some(SECRET)));
    let Ok(presented @ Presented::Service(_)) = presented else { panic!("the secret is not known") };
    let before = limiter.peek(key(id), now);
    assert!(matches!(limiter.check(key(id), presented, now), Verdict::Exempt(_)));
    assert_eq!(limiter.peek(key(id), now), before);
}

impl Cost {
    fn of(self, limit: u32) -> u32 {
        match self {
            Self::One => 1,
            Self::Small(small) => small.into(),
            Self::Part(part) => (u64::from(limit) * u64::from(part) / 255) as u32,
            Self::Limit => limit,
            Self::Any(any) => any,
        }
    }
}
