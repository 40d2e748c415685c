//! What an application names beside its adapter's own types. Each adapter's crate has all of it, so that an application depends on
//! no other.

pub use crate::{
    Addresses, Answer, Basis, ChangeError, Clock, Clue, Decision, Finding, Gate, GateBuilder, GateError,
    Identity, Keyer, Lost, ManualClock, Mode, Nanos, Origin, Overflow, Policy, Quota, Reason, Refusal,
    RefusalBody, Report, ResponseFuture, ServiceName, Source, Standing, Terms, Throttled, Verdict,
};
