//! Four quotas that each admit ten requests at once, and short words for what is done with them.

use tollgate::{
    Basis, BoxedLimiter, Key, Keyer, Nanos, Overflow, Presented, Quota, Reason, Standing, Verdict,
};

pub(crate) const KEYER: Keyer = Keyer::new(*b"a seed for tests");
pub(crate) const MINUTE: Nanos = Nanos::from_secs(60);
/// The begin of a minute, where sliding windows begin.
pub(crate) const NOW: Nanos = Nanos::from_secs(6000);
/// What each of the quotas admits at once.
pub(crate) const LIMIT: u32 = 10;

pub(crate) fn key(caller: u32) -> Key {
    KEYER.bytes(&caller.to_le_bytes())
}

pub(crate) fn quotas() -> [Quota; 4] {
    [
        Quota::per_minute(LIMIT),
        Quota::per_minute(LIMIT).sliding(),
        Quota::per_minute(LIMIT).burst(LIMIT),
        Quota::at_most(2 * LIMIT).in_any(MINUTE).burst(LIMIT),
    ]
}

pub(crate) fn limiter(quota: Quota) -> BoxedLimiter {
    BoxedLimiter::with_capacity(quota, 64).unwrap()
}

pub(crate) fn charge(limiter: &BoxedLimiter, caller: u32, now: Nanos, cost: u32) -> Standing {
    match limiter.check_n(key(caller), Presented::Absent, now, cost) {
        Verdict::Admitted(standing) => standing,
        other => panic!("not admitted: {other:?}"),
    }
}

pub(crate) fn refused(limiter: &BoxedLimiter, caller: u32, now: Nanos, cost: u32) -> Reason {
    match limiter.check_n(key(caller), Presented::Absent, now, cost) {
        Verdict::Refused(refusal) => refusal.reason,
        other => panic!("not refused: {other:?}"),
    }
}

pub(crate) fn remaining(limiter: &BoxedLimiter, caller: u32, now: Nanos) -> u32 {
    limiter.peek(key(caller), now).remaining
}

pub(crate) fn occupied(limiter: &BoxedLimiter, now: Nanos) -> (usize, usize) {
    let occupancy = limiter.occupancy(now);
    (occupancy.restraining, occupancy.idle)
}

/// Sixteen slots, each taken by a caller with one request of its ten; every other caller finds them all taken.
pub(crate) fn full(quota: Quota, overflow: Overflow) -> BoxedLimiter {
    let limiter = BoxedLimiter::with_capacity(quota, 16).unwrap();
    for caller in 0..16 {
        assert_eq!(charge(&limiter, caller, NOW, 1).basis, Basis::Own);
    }
    assert_eq!(occupied(&limiter, NOW), (16, 0));
    limiter.with_overflow(overflow)
}
