use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::routing::{MethodRouter, any};
use tollgate_http::{Gate, v1};

/// Shows who is being throttled, as JSON or as a page, to whoever presents a secret: `.route("/ops/throttled", throttled(gate))`.
/// With the feature `report`; see [`Gate::report_answer`].
///
/// Add the route outside of [`TollgateLayer`](crate::TollgateLayer), after `.layer(..)`, or whoever is throttled can't look.
pub fn throttled<S: Clone + Send + Sync + 'static>(gate: impl Into<Arc<Gate>>) -> MethodRouter<S> {
    let gate = gate.into();
    any(async move |request: Request| v1::throttled::<Body>(&gate, &(&request).into()))
}
