use std::sync::Arc;

use axum_core::extract::{FromRef, FromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;
use tollgate_http::v1::{self, TermsOf};
use tollgate_http::{Checkpoint, Gate, ServiceName};
use tower_layer::Layer;

use crate::service::Tollgate;

/// Lets a handler run for our own services alone: an extractor with the service's name.
///
/// It answers anybody else with `401 Unauthorized`. The gate comes from the router's state (`Arc<Gate>`, or a state
/// that it can be had from by [`FromRef`]); if [`TollgateLayer`](crate::TollgateLayer) with the same gate is around
/// the route, its decision is heeded and nothing is compared again. For whole routers there is [`RequireInternalLayer`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequireInternal(pub ServiceName);

impl<S> FromRequestParts<S> for RequireInternal
where
    S: Send + Sync,
    Arc<Gate>: FromRef<S>,
{
    type Rejection = NotInternal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, NotInternal> {
        let gate = Arc::<Gate>::from_ref(state);
        v1::require_internal(&gate, &(&*parts).into()).map(Self).map_err(NotInternal)
    }
}

/// The request carries no valid credential. Answered with `401 Unauthorized` and `WWW-Authenticate`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotInternal(v1::NotInternal);

impl IntoResponse for NotInternal {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

/// Keeps routes for our own services: a layer that answers anybody else with `401 Unauthorized`.
///
/// It limits nobody. Inside [`TollgateLayer`](crate::TollgateLayer) with the same gate it heeds that decision and
/// compares nothing again; then a forger gets 401 while its budget lasts, and 429 after.
#[derive(Clone, Debug)]
#[must_use = "a layer protects nothing until it is put on a service"]
pub struct RequireInternalLayer(Checkpoint<TermsOf>);

impl RequireInternalLayer {
    /// A layer for a gate, shared or not yet.
    pub fn new(gate: impl Into<Arc<Gate>>) -> Self {
        Self(Checkpoint::guard(gate))
    }
}

impl<S> Layer<S> for RequireInternalLayer {
    type Service = Tollgate<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Tollgate { inner, checkpoint: self.0.clone() }
    }
}
