#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod middleware;
mod request;

pub use middleware::{Middleware, RequireInternalLayer, Tollgate};
pub use request::*;
pub use tollgate_http::{Addresses, Answer, Basis, ChangeError, Clock, Clue, Decision, Finding, Gate};
pub use tollgate_http::{GateBuilder, GateError, Identity, Keyer, Lost, ManualClock, Mode, Nanos, Origin};
pub use tollgate_http::{Overflow, Policy, Quota, Reason, Refusal, RefusalBody, Report, ResponseFuture};
pub use tollgate_http::{ServiceName, Source, Standing, Terms, Throttled, Verdict};
