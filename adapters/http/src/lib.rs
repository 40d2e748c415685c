//! What tollgate's HTTP adapters share.
//!
//! # What
//! A [`Gate`] is a limiter with everything that HTTP adds to it: which header carries a service's secret, which
//! clock is read, whether verdicts are enforced, and what a response says. It takes addresses and header bytes and
//! returns integers and short fixed strings, and so serves frameworks that speak version 0.2 of the crate `http`
//! and those that speak 1.x. An adapter translates types; it holds no arithmetic and no header logic.
//!
//! # Needs
//! `std`, threads and a monotonic clock. No runtime, and neither a version of the crate `http` nor a framework.
//!
//! # Example
//! What an adapter does with a request, and what an application does once, when it starts:
//! ```
//! use tollgate_http::{Gate, Quota};
//!
//! let gate = Gate::builder(Quota::per_minute(300)).service("edge", "the secret that the edge presents").build()?;
//!
//! let peer = "203.0.113.7".parse().ok();
//! let decision = gate.decide(peer, &[("x-internal-token", "a made-up token")])?;
//! assert!(gate.refusal(&decision, &()).is_none()); // otherwise the response to answer with
//! let fields = gate.fields(&decision).expect("counted requests are told where they stand");
//! assert_eq!(fields.rate_limit(), r#""default";r=299;t=60"#);
//!
//! let own = gate.decide(None, &[("x-internal-token", "the secret that the edge presents")])?;
//! assert_eq!(own.identity().service(), Some("edge"));
//! assert!(gate.fields(&own).is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! With a framework most of that is [`Checkpoint`]'s, and that of `v1` (the feature `http-1`).
//!
//! # Order
//! What every adapter does with each request:
//! 1. Its [`Terms`], if any are said: what it costs, whose budget it uses, or that it is skipped.
//! 2. A valid credential in the gate's field: the request passes uncounted, and its response carries no fields.
//! 3. Otherwise the caller is charged, which is the peer's address unless the gate or the terms say another. Without a peer
//!    the answer is 500, and the log says how the peer's address gets into a request in the framework at hand. Where other
//!    nodes share the budgets ([`GateBuilder::shared`]) and this one does not know the answer, the request waits for the
//!    store; if that can't be reached and nothing may pass without it, the answer is 503.
//! 4. Over the limit: 429 at once, and the application does not see the request. A forged credential is no
//!    exception, so a forger gets 401 from internal routes while its budget lasts, and then 429.
//! 5. Otherwise the application answers. The charge stays or is given back, as [`GateBuilder::charge_if`] says, and the
//!    response gets the fields `RateLimit-Policy` and `RateLimit`. If it has them already they are added to; nothing is
//!    overwritten.
//!
//! The decision is in the extensions of a request that passes and of a refusal's response. A request whose client went away
//! stays charged and is no longer under way.
//!
//! A guard of internal routes asks step 2 alone and answers anybody else with 401. Inside the limits of its own gate it heeds
//! that decision, and compares nothing again.
//!
//! # Several gates
//! A request that passes one gate twice is counted twice. Of two gates, each counts what reaches it, also what the inner one
//! refuses, unless the outer one is told to give that back ([`GateBuilder::refund_inner_refusals`]). Where requests must keep
//! several limits at once, let one gate have several policies ([`GateBuilder::policy`]).
//!
//! # Deployment caveat
//! Behind a proxy the peer is the proxy, and all its callers share one budget, unless the gate is told which field names
//! them and whom to trust: [`GateBuilder::source`], and the guide
//! [Behind a proxy](https://github.com/tollgate-rs/tollgate/blob/main/docs/behind-a-proxy.md).
//!
//! # Cost
//! A decision is one allocation, which its clones share, and no lock. With a framework that is a fraction of a microsecond
//! beside the request's own work, most of it for the fields that a response carries:
//! [BENCHMARKS](https://github.com/tollgate-rs/tollgate/blob/main/docs/BENCHMARKS.md). Memory is 8 bytes for each caller of
//! [`GateBuilder::capacity`], for each of its policies, and 32 KiB for the list of throttled callers.
//!
//! # Trade-offs
//! - Counts are in memory: each process has its own, and a restart begins anew, unless a store keeps them
//!   ([`GateBuilder::shared`]).
//! - Settings are checked when the gate is built and then stand, but for [`Gate::set_mode`] and [`Gate::set_quota`].
//! - Only the field that was chosen names callers, and only in the ways that [`Source`] has.
//!
//! # References
//! RFC 6585 (429), RFC 9110 (`Retry-After`, challenges), RFC 9457 (problem details), RFC 9651 (structured fields), RFC 7239
//! (`Forwarded`), draft-ietf-httpapi-ratelimit-headers-10, and
//! [DESIGN](https://github.com/tollgate-rs/tollgate/blob/main/docs/DESIGN.md).
//!
//! # Features
//! - `http-1`: `v1`, for adapters of frameworks that speak version 1 of the crate `http`.
//! - `metrics`: `GateBuilder::metrics`, through the facade of that name.
//! - `report`: `Gate::report_answer`, who is being throttled, as JSON and as a page.
//!
//! # Not here
//! Waiting until a request is admitted. A server that lets the refused wait holds a connection for each, which is what
//! an attacker wants; it answers when to come back instead. A client or a worker that limits itself has
//! [`Refusal::retry_after`] to sleep for.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod answer;
mod builder;
mod checkpoint;
mod clock;
mod control;
mod counting;
mod credential;
mod decision;
mod error;
mod examine;
mod fields;
mod future;
mod gate;
mod instruments;
mod mode;
mod name;
mod notices;
mod onward;
mod pending;
mod permit;
mod policy;
pub mod prelude;
mod refunds;
mod reply;
mod request;
mod respond;
mod seldom;
mod settled;
mod shared;
mod source;
mod straight;
mod terms;
mod text;
mod tier;
mod tiers;
mod upkeep;
#[cfg(feature = "http-1")]
pub mod v1;
mod watching;

pub use answer::{Answer, RefusalBody};
pub use builder::GateBuilder;
#[doc(hidden)]
pub use bytes::Bytes;
pub use checkpoint::{Aside, Checkpoint, Entry};
pub use clock::{Clock, ManualClock};
pub use control::ChangeError;
pub use credential::{LONGEST_HEADER_NAME, MOST_SECRETS};
pub use decision::{Decision, Identity, NoPeer, ServiceName};
pub use error::GateError;
pub use fields::{Field, Fields, Merge};
pub use future::{ResponseFuture, Settle};
pub use gate::{Gate, MOST_CLASSES, MOST_NETWORKS};
pub use mode::Mode;
pub use name::{FieldName, Types};
#[doc(hidden)]
pub use name::{Fixed, Name};
pub use onward::{Onward, Responding};
pub use pending::{Heard, Pending};
pub use permit::Permit;
pub use policy::{LONGEST_POLICY_NAME, MOST_POLICIES, Policy};
pub use reply::{Reply, Written};
pub use request::RequestFields;
pub use settled::Settled;
pub use shared::{SharedAnswer, SharedBudgets, SharedPolicy, SharedStore, SharedVerdict};
pub use source::Source;
pub use terms::Terms;
pub use tollgate::{
    AllVerdict, Basis, BoxedLimiter, BuildError, Clue, CredentialError, Finding, Key, Keyer, Lost, Nanos,
    Origin, OriginError, Overflow, Prefixes, Presented, Quota, QuotaError, Reason, Refusal, Service,
    SetQuotaError, Standing, Verdict,
};
pub use watching::{Addresses, Held, Report, Throttled};

/// The README's examples are compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
