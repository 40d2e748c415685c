//! A rate limiter that knows its own.
//!
//! # What
//! [`Limiter`] holds each caller to a [`Quota`] and lets your own services pass by their [`Credentials`]. A
//! caller is one 64-bit word in a fixed table, eight words are one cache line, and the decision on a caller that is
//! known is, mostly, one load and at most one compare-and-swap. Memory is bounded whatever is sent, nobody who is
//! throttled can flush its count, and while the table has room exactly the limit passes under any number of threads.
//!
//! # Needs
//! Neither an allocator nor an operating system. The time is an argument. Targets without 64-bit atomics are
//! served by the crate `portable-atomic`, which must be told how in the binary's own `Cargo.toml`:
//!
//! | processor | feature of `portable-atomic` | what an atomic operation is then |
//! |---|---|---|
//! | one core (most microcontrollers) | `unsafe-assume-single-core` | interrupts are off for a few instructions |
//! | without compare-and-swap (Cortex-M0), several cores or unprivileged code | `critical-section` | whatever the binary's critical section does |
//!
//! **On cores that have a 32-bit compare-and-swap (Cortex-M3 and above) `critical-section` is ignored**, and without
//! `unsafe-assume-single-core` each operation takes a global spin lock: an interrupt that checks a caller while the main
//! program holds it waits for ever.
//!
//! # Example
//! ```
//! use tollgate::{Credentials, Keyer, Limiter, Nanos, Origin, Quota, Verdict};
//!
//! static GATE: Limiter<256> = Limiter::new(Quota::per_minute(300));
//!
//! let keyer = Keyer::new(*b"sixteen secret b"); // `Keyer::random()` with the feature `std`
//! let own = Credentials::<4>::new().with("edge", b"the secret that the edge presents")?;
//!
//! let peer = "203.0.113.7".parse()?;
//! let presented = Some(&b"a made-up token"[..]);
//! let now = Nanos::from_secs(1);
//! match GATE.check(keyer.address(Origin::peer(peer).network()), own.verify(presented), now) {
//!     Verdict::Exempt(service) => println!("{} is ours", own.name(service)),
//!     Verdict::Admitted(standing) => assert_eq!(standing.remaining, 299),
//!     Verdict::Refused(refusal) => println!("again in {} s", refusal.retry_after.whole_secs_up()),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cost
//! | | |
//! |---|---|
//! | memory | 8 bytes a caller, fixed when a limiter is built; nothing is allocated where requests are decided |
//! | a decision | on a caller that is known, mostly one load and at most one compare-and-swap: 9 ns in a cache, of which 5 are the key's hash |
//! | work at most | sixteen slots looked at, a few times each, whatever is sent |
//! | code | 6 KiB on a Cortex-M0 with fixed windows alone, 9.5 KiB with every kind of quota |
//!
//! The figures are of `docs/BENCHMARKS.md` and `examples/firmware` in the repository.
//!
//! # Trade-offs
//! - A caller is a fingerprint: two share a word with odds of at most 1.2 in ten million.
//! - The size is fixed. In a table without room a newcomer takes over the least-charged caller's count, or is refused if
//!   all are at their limits ([`Overflow`]): choose twice the callers that you expect in one window.
//! - Times are rounded to ticks: rates and windows differ by up to 0.1 % from what is written ([`Quota`]).
//! - Nothing waits until a request may go, and nothing outlives the process.
//!
//! # References
//! - Fixed and sliding windows, and GCRA: the generic cell rate algorithm of ITU-T I.371.
//! - The overflow: Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data
//!   streams", 2005 (Space-Saving). The list of throttled callers: Misra and Gries, "Finding repeated elements", 1982.
//! - Keys: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
//! - Why all of it is as it is:
//!   [DESIGN](https://github.com/tollgate-rs/tollgate/blob/main/docs/DESIGN.md).
//!
//! # Features
//! - `alloc`: `BoxedLimiter`, whose capacity is chosen at run time, and `Origins`, which find callers behind proxies (it
//!   allocates nothing, but the crate `ipnet` links the crate `alloc`).
//! - `std`: `Keyer::random`; implies `alloc`.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::std_instead_of_core, clippy::std_instead_of_alloc, clippy::alloc_instead_of_core)]

#[cfg(any(feature = "alloc", test))]
extern crate alloc;
#[cfg(any(feature = "std", tollgate_loom, test))]
extern crate std;

mod account;
mod counters;
mod credentials;
mod flaw;
mod global;
mod in_flight;
mod key;
mod limiter;
mod line;
mod notes;
mod origin;
mod penalty;
mod quota;
mod several;
mod sync;
mod table;
mod time;
mod verdict;
mod watch;
mod word;
mod work;

pub use account::Account;
pub use counters::Counts;
pub use credentials::{
    CredentialError, Credentials, LONGEST_SECRET, LONGEST_SERVICE, Presented, SHORTEST_SECRET, Service,
};
#[cfg(tollgate_loom)]
pub use flaw::Flaw;
pub use global::GlobalLimiter;
#[cfg(feature = "alloc")]
pub use in_flight::BoxedInFlight;
pub use in_flight::{FixedInFlight, InFlight, InFlightGuard};
#[cfg(feature = "alloc")]
pub use ipnet::IpNet;
pub use key::{Key, Keyer};
#[cfg(feature = "alloc")]
pub use limiter::BoxedLimiter;
pub use limiter::{BuildError, FixedWindowLimiter, Limiter, Occupancy, RateLimiter, SetQuotaError};
#[cfg(feature = "alloc")]
pub use notes::BoxedNotes;
pub use notes::{FixedNotes, Note, Notes};
pub use origin::{Origin, Prefixes, Source};
#[cfg(feature = "alloc")]
pub use origin::{OriginError, Origins, OriginsBuilder, TrustedNetwork};
#[cfg(feature = "alloc")]
pub use penalty::BoxedPenalty;
pub use penalty::{FixedPenalty, Penalty};
pub use quota::{AtMost, FixedWindow, Gcra, Layout, Quota, QuotaError, Rule, SlidingWindow};
pub use several::{AllVerdict, Limit, check_all, check_list};
pub use table::Overflow;
#[cfg(feature = "alloc")]
pub use table::storage::Boxed;
pub use table::storage::{Fixed, Storage};
pub use time::Nanos;
pub use verdict::{Basis, Reason, Receipt, Refusal, Standing, Verdict};
pub use watch::{Clue, Finding, Lost, Noticed, Seen, Sighting, Watch};
#[cfg(fuzzing)]
#[doc(hidden)]
pub use word::fuzzing;

/// The examples of the README and of the guides that need the core alone are compiled with the documentation's.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../docs/embedded.md")]
#[doc = include_str!("../../docs/moving-from-governor.md")]
struct Guides;
