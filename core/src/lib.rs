//! A rate limiter that knows its own.
//!
//! # What
//! [`Limiter`] holds each caller to a [`Quota`] and lets your own services pass by their [`Credentials`]. A
//! caller is one 64-bit word in a fixed table, eight words are one cache line, and a decision is one load and
//! at most one compare-and-swap. Memory is bounded whatever is sent, nobody can flush its own count, and under
//! any number of threads exactly the limit passes.
//!
//! # Needs
//! Neither an allocator nor an operating system. The time is an argument. Targets without 64-bit atomics are
//! served by the crate `portable-atomic`, which must be told how, by its feature `unsafe-assume-single-core`
//! or `critical-section` in the binary's own `Cargo.toml`; it then disables interrupts for a few instructions.
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
//! # Features
//! - `alloc`: `BoxedLimiter`, whose capacity is chosen at run time.
//! - `std`: `Keyer::random`; implies `alloc`.

#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::std_instead_of_core, clippy::std_instead_of_alloc, clippy::alloc_instead_of_core)]

#[cfg(any(feature = "alloc", test))]
extern crate alloc;
#[cfg(any(feature = "std", loom, test))]
extern crate std;

mod counters;
mod credentials;
mod flaw;
mod key;
mod limiter;
mod line;
mod origin;
mod quota;
mod sync;
mod table;
mod time;
mod verdict;
mod word;

pub use counters::Counts;
pub use credentials::{
    CredentialError, Credentials, LONGEST_SECRET, LONGEST_SERVICE, Presented, SHORTEST_SECRET, Service,
};
#[cfg(loom)]
pub use flaw::Flaw;
pub use key::{Key, Keyer};
#[cfg(feature = "alloc")]
pub use limiter::BoxedLimiter;
pub use limiter::{BuildError, Limiter, RateLimiter};
pub use origin::Origin;
pub use quota::{Quota, QuotaError};
pub use table::Overflow;
#[cfg(feature = "alloc")]
pub use table::storage::Boxed;
pub use table::storage::{Fixed, Storage};
pub use time::Nanos;
pub use verdict::{Basis, Reason, Refusal, Standing, Verdict};
