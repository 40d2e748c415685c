//! The limiters that are measured, each with what it needs to answer one request from an address.
#![expect(clippy::inline_always, reason = "no subject is to pay for a call that another does not")]

use std::hash::BuildHasher;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use foldhash::quality::SeedableRandomState;
use governor::clock::{Clock, DefaultClock, FakeRelativeClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota as Rate, RateLimiter};
use pingora_limits::rate::Rate as Estimator;
use throttlecrab::{AdaptiveStore, RateLimiter as Crab};
use tollgate::{BoxedLimiter, BuildError, Key, Keyer, Nanos, Presented, Quota};

/// Something that decides requests.
pub trait Subject: Sync {
    /// Whether a request from this address passes.
    fn decide(&self, address: IpAddr) -> bool;
}

/// The seed of all keyed hashes here.
pub static KEYER: Keyer = Keyer::new(*b"a seed for bench");

/// What every clock says that nobody reads.
pub const NOW: Nanos = Nanos(1 << 40);

/// Callers' addresses, scattered; no two are the same, since the factor is odd.
pub fn address(caller: u32) -> IpAddr {
    Ipv4Addr::from_bits(caller.wrapping_mul(0x9e37_79b9)).into()
}

/// tollgate, told the time.
pub struct Ours(pub BoxedLimiter);

impl Ours {
    /// So many requests a minute, and room for so many callers.
    ///
    /// # Errors
    /// If that can't be had.
    pub fn new(limit: u32, capacity: usize) -> Result<Self, BuildError> {
        BoxedLimiter::with_capacity(Quota::per_minute(limit), capacity).map(Self)
    }
}

impl Subject for Ours {
    #[inline(always)]
    fn decide(&self, address: IpAddr) -> bool {
        self.0.check(KEYER.address(address), Presented::Absent, black_box(NOW)).passes()
    }
}

/// tollgate, by one fast hash that is not made against attackers, to see what its own hash costs.
pub struct OursByFoldhash(pub BoxedLimiter, pub SeedableRandomState);

impl Subject for OursByFoldhash {
    #[inline(always)]
    fn decide(&self, address: IpAddr) -> bool {
        let IpAddr::V4(v4) = address else { return false };
        let key = Key::from_fingerprint(self.1.hash_one(v4.to_bits()));
        self.0.check(key, Presented::Absent, black_box(NOW)).passes()
    }
}

/// tollgate, with the clock that its adapters read.
pub struct OursWithClock(pub Ours);

impl Subject for OursWithClock {
    #[inline(always)]
    fn decide(&self, address: IpAddr) -> bool {
        let now = coarse_clock();
        self.0.0.check(KEYER.address(address), Presented::Absent, now).passes()
    }
}

/// The kernel's coarse monotonic clock, as a gate reads it.
#[inline]
pub fn coarse_clock() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    let (seconds, nanos) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
    Nanos(seconds * 1_000_000_000 + nanos)
}

/// The least that a table of words can do: the same hash, index by mask, one relaxed load and one relaxed compare-and-swap
/// of `word + 1` on an array of the same bytes and alignment.
pub struct Limit(Vec<Line>);

#[repr(align(64))]
struct Line([AtomicU64; 8]);

impl Limit {
    /// An array with as many words as a table for so many callers.
    pub fn new(capacity: usize) -> Self {
        let lines = capacity.next_power_of_two() / 8;
        Self((0..lines).map(|_| Line([const { AtomicU64::new(0) }; 8])).collect())
    }
}

impl Subject for Limit {
    #[inline(always)]
    fn decide(&self, address: IpAddr) -> bool {
        let index =
            usize::try_from(KEYER.address(address).fingerprint()).unwrap_or(0) & (self.0.len() * 8 - 1);
        let Some(slot) = self.0.get(index / 8).and_then(|line| line.0.get(index % 8)) else { return false };
        // ORDERING: the cost of a load and a swap is what is measured; nothing is handed over.
        let word = slot.load(Ordering::Relaxed);
        slot.compare_exchange(word, word + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

type Governor<C> = RateLimiter<
    IpAddr,
    DashMapStateStore<IpAddr>,
    C,
    governor::middleware::NoOpMiddleware<<C as Clock>::Instant>,
>;

/// governor, keyed, with a clock that stands still.
pub struct GovernorToldTheTime(Governor<FakeRelativeClock>);

/// governor, keyed, as it comes.
pub struct GovernorWithClock(Governor<DefaultClock>);

/// So many requests a minute, all of them at once if they like.
fn rate(limit: u32) -> Rate {
    Rate::per_minute(NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN))
}

impl GovernorToldTheTime {
    /// So many requests a minute.
    pub fn new(limit: u32) -> Self {
        Self(RateLimiter::new(rate(limit), DashMapStateStore::default(), FakeRelativeClock::default()))
    }
}

impl GovernorWithClock {
    /// So many requests a minute.
    pub fn new(limit: u32) -> Self {
        Self(RateLimiter::new(rate(limit), DashMapStateStore::default(), DefaultClock::default()))
    }
}

impl Subject for GovernorToldTheTime {
    #[inline(always)]
    fn decide(&self, address: IpAddr) -> bool {
        self.0.check_key(&address).is_ok()
    }
}

impl Subject for GovernorWithClock {
    #[inline(always)]
    fn decide(&self, address: IpAddr) -> bool {
        self.0.check_key(&address).is_ok()
    }
}

/// pingora-limits: an estimate of the requests in the current minute, compared with the limit. It reads its own clock.
pub struct Pingora {
    rate: Estimator,
    limit: isize,
}

impl Pingora {
    /// So many requests a minute.
    pub fn new(limit: u32) -> Self {
        let limit = isize::try_from(limit).unwrap_or(isize::MAX);
        Self { rate: Estimator::new(Duration::from_mins(1)), limit }
    }
}

impl Subject for Pingora {
    #[inline(always)]
    fn decide(&self, address: IpAddr) -> bool {
        self.rate.observe(&address, 1) <= self.limit
    }
}

/// throttlecrab, which takes a text for its key and is not shared: behind a mutex, told the time.
pub struct Throttlecrab {
    limiter: Mutex<Crab<AdaptiveStore>>,
    limit: i64,
    now: SystemTime,
}

impl Throttlecrab {
    /// So many requests a minute, and room for so many callers.
    pub fn new(limit: u32, capacity: usize) -> Self {
        let limiter = Mutex::new(Crab::new(AdaptiveStore::with_capacity(capacity)));
        Self { limiter, limit: limit.into(), now: SystemTime::now() }
    }
}

impl Subject for Throttlecrab {
    #[inline(always)]
    fn decide(&self, address: IpAddr) -> bool {
        let key = address.to_string();
        let Ok(mut limiter) = self.limiter.lock() else { return false };
        limiter.rate_limit(&key, self.limit, self.limit, 60, 1, self.now).is_ok_and(|(passes, _)| passes)
    }
}
