//! What the types promise, checked by the compiler: what breaks one of these breaks whoever depends on it. (That
//! tables of a wrong size and quotas that can't be enforced don't compile is shown by the doctests of `Limiter::new`.)

#![cfg(not(tollgate_loom))]

use core::error::Error;
use core::fmt::Debug;
use core::hash::Hash;
use core::panic::{RefUnwindSafe, UnwindSafe};

use tollgate::{
    AllVerdict, AtMost, Basis, Boxed, BoxedInFlight, BoxedLimiter, BoxedPenalty, BuildError, Counts,
    CredentialError, Credentials, Fixed, FixedInFlight, FixedPenalty, GlobalLimiter, InFlightGuard, Key,
    Keyer, Limit, Limiter, Nanos, Occupancy, Origin, OriginError, Origins, Overflow, Prefixes, Presented,
    Quota, QuotaError, Reason, Receipt, Refusal, Service, SetQuotaError, Source, Standing, TrustedNetwork,
    Verdict,
};

/// It can be in a static and used by all threads, and a thread that panics leaves it as good as it was.
const fn shared<T: Send + Sync + UnwindSafe + RefUnwindSafe + 'static>() {}

/// It is a plain value.
const fn plain<T: Copy + Eq + Debug + Send + Sync + UnwindSafe + RefUnwindSafe + 'static>() {
    shared::<T>();
}

const fn error<T: Error + Clone + Eq + Send + Sync + UnwindSafe + RefUnwindSafe + 'static>() {
    shared::<T>();
}

const fn hashed<T: Hash>() {}

const _: () = {
    shared::<Limiter<256>>();
    shared::<BoxedLimiter>();
    shared::<GlobalLimiter>();
    shared::<FixedInFlight<256>>();
    shared::<BoxedInFlight>();
    shared::<InFlightGuard<'static, Fixed<256>>>();
    shared::<InFlightGuard<'static, Boxed>>();
    shared::<FixedPenalty<256>>();
    shared::<BoxedPenalty>();
    shared::<Credentials<8>>();
    shared::<Keyer>();
    shared::<Origins>();
    shared::<Fixed<256>>();
    shared::<Boxed>();
    shared::<AllVerdict<3>>();
};

const _: () = {
    plain::<Quota>();
    plain::<AtMost>();
    plain::<Nanos>();
    plain::<Key>();
    plain::<Origin>();
    plain::<Prefixes>();
    plain::<Source>();
    plain::<TrustedNetwork>();
    plain::<Presented>();
    plain::<Service>();
    plain::<Verdict>();
    plain::<Standing>();
    plain::<Receipt>();
    plain::<Refusal>();
    plain::<Reason>();
    plain::<Basis>();
    plain::<Overflow>();
    plain::<Occupancy>();
    plain::<Counts>();
    hashed::<(Quota, Nanos, Key, Reason, Basis, Overflow)>();
};

const _: () = {
    error::<QuotaError>();
    error::<OriginError>();
    error::<BuildError>();
    error::<SetQuotaError>();
    error::<CredentialError>();
};

/// A caller is a word of eight bytes, a line has eight of them and begins with a cache line.
const _: () = {
    assert!(size_of::<Key>() == 8 && size_of::<Nanos>() == 8);
    assert!(size_of::<Fixed<2>>() == 2 * 64 && align_of::<Fixed<2>>() == 64);
    assert!(size_of::<Fixed<256>>() == 16 << 10);
    // Beside the words: counters of 1 KiB on a host, and the quota. Alignment to a pair of cache lines may add as much
    // again.
    assert!(size_of::<Limiter<256>>() - size_of::<Fixed<256>>() <= 1536);
    assert!(size_of::<FixedInFlight<256>>() - size_of::<Fixed<256>>() <= 1536);
    assert!(size_of::<FixedPenalty<256>>() - size_of::<Fixed<256>>() <= 1536);
    assert!(size_of::<BoxedLimiter>() <= 1536);
    assert!(size_of::<GlobalLimiter>() <= 1536);
    // An answer is returned by value on every request.
    assert!(size_of::<Verdict>() <= 64);
};

// Everything that decides can be made in a static, without a lazy first request.
static GATE: Limiter<2> = Limiter::new(Quota::per_second(10));
static BURSTS: Limiter<2> = Limiter::new(Quota::at_most(10).in_any(Nanos::from_secs(1)).burst(5));
static SLIDING: Limiter<2> = Limiter::new(Quota::per_second(10).sliding()).with_overflow(Overflow::Refuse);
static EVERYBODY: GlobalLimiter = GlobalLimiter::new(Quota::per_second(10));
static UNDER_WAY: FixedInFlight<2> = FixedInFlight::new(10).admit_when_full();
static PENALTY: FixedPenalty<2> = FixedPenalty::new(3, Nanos::from_secs(1), Nanos::from_secs(60));

#[test]
fn statics_decide_from_the_first_request_on() {
    let key = Keyer::new(*b"a seed for tests").bytes(b"caller");
    for now in [Nanos::ZERO, Nanos::from_secs(1)] {
        let limits: [(&dyn Limit, Key); 4] =
            [(&GATE, key), (&BURSTS, key), (&SLIDING, key), (&EVERYBODY, key)];
        assert!(tollgate::check_all(limits, Presented::Absent, now, 1).passes());
        assert!(UNDER_WAY.enter(key, Presented::Absent, now).passes());
        assert!(PENALTY.strike(key, now).is_none());
    }
}
