#![doc = include_str!("../README.md")]

mod body;
mod decided;
mod future;
mod head;
mod internal;
mod peer;
mod service;
mod tollgate;

pub use body::ResponseBody;
pub use decided::decided;
pub use future::ResponseFuture;
pub use head::Head;
pub use internal::{NotInternal, RequireInternal, require_internal};
pub use service::TollgateService;
pub use tollgate::Tollgate;
pub use tollgate_http::{
    Answer, Basis, ChangeError, Clock, Decision, Gate, GateBuilder, GateError, Identity, Keyer, ManualClock,
    Mode, Nanos, Origin, Overflow, Policy, Quota, Reason, Refusal, RefusalBody, ServiceName, Source,
    Standing, Terms, Verdict,
};
