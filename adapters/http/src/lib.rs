//! What tollgate's HTTP adapters share.
//!
//! # What
//! A [`Gate`] is a limiter with everything that HTTP adds to it: which header carries a service's secret, which
//! clock is read, whether verdicts are enforced, and what a response says. It takes addresses and header bytes and
//! returns integers and short fixed strings, and so serves frameworks that speak version 0.2 of the crate `http`
//! and those that speak 1.x. An adapter translates types; it holds no arithmetic and no header logic.
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

mod answer;
mod builder;
mod clock;
mod control;
mod credential;
mod decision;
mod error;
mod fields;
mod gate;
mod mode;
mod notices;
mod permit;
mod policy;
mod request;
mod respond;
mod source;
mod terms;
mod text;
mod tier;
mod upkeep;
#[cfg(feature = "http-1")]
pub mod v1;

pub use answer::{Answer, RefusalBody};
pub use builder::GateBuilder;
pub use clock::{Clock, ManualClock};
pub use control::ChangeError;
pub use credential::{LONGEST_HEADER_NAME, MOST_SECRETS};
pub use decision::{Decision, Identity, NoPeer, ServiceName};
pub use error::GateError;
pub use fields::{Field, Fields, Merge};
pub use gate::{Gate, MOST_CLASSES, MOST_NETWORKS};
pub use mode::Mode;
pub use permit::Permit;
pub use policy::{LONGEST_POLICY_NAME, MOST_POLICIES, Policy};
pub use request::RequestFields;
pub use source::Source;
pub use terms::Terms;
pub use tollgate::{
    Basis, BoxedLimiter, BuildError, CredentialError, Keyer, Nanos, Origin, OriginError, Overflow, Prefixes,
    Presented, Quota, QuotaError, Reason, Refusal, Service, SetQuotaError, Standing, Verdict,
};
