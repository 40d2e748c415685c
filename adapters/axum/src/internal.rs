use std::sync::Arc;
use std::task::{Context, Poll};

use axum_core::extract::{FromRef, FromRequestParts};
use axum_core::response::IntoResponse;
use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response};
use tollgate_http::v1::{internal, to_response};
use tollgate_http::{Answer, Gate, ServiceName};
use tower_layer::Layer;
use tower_service::Service;

use crate::future::ResponseFuture;

/// Lets a handler run for our own services alone: an extractor with the service's name.
///
/// It answers anybody else with `401 Unauthorized`. The gate comes from the router's state (`Arc<Gate>`, or a state
/// that it can be had from by [`FromRef`]); if [`TollgateLayer`](crate::TollgateLayer) with the same gate is around
/// the route, its decision is heeded and nothing is compared again. For whole routers there is
/// [`RequireInternalLayer`].
///
/// ```
/// use std::sync::Arc;
/// use axum::{Router, routing::get};
/// use tollgate_axum::{Gate, RequireInternal};
///
/// async fn lookup(RequireInternal(service): RequireInternal) -> String {
///     format!("hello, {service}")
/// }
///
/// fn routes(gate: Arc<Gate>) -> Router {
///     Router::new().route("/internal/lookup", get(lookup)).with_state(gate)
/// }
/// ```
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
        match internal(&gate, &parts.headers, &parts.extensions) {
            Some(service) => Ok(Self(service)),
            None => Err(NotInternal { answer: Box::new(gate.unauthorized()), method: parts.method.clone() }),
        }
    }
}

/// The request carries no valid credential. Answered with `401 Unauthorized` and `WWW-Authenticate`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotInternal {
    answer: Box<Answer>,
    method: Method,
}

impl IntoResponse for NotInternal {
    fn into_response(self) -> axum_core::response::Response {
        to_response(&self.answer, &self.method)
    }
}

/// Keeps routes for our own services: a layer that answers anybody else with `401 Unauthorized`.
///
/// It limits nobody. Inside [`TollgateLayer`](crate::TollgateLayer) with the same gate it heeds that decision and
/// compares nothing again; then a forger gets 401 while its budget lasts, and 429 after.
///
/// ```
/// use std::sync::Arc;
/// use axum::{Router, routing::get};
/// use tollgate_axum::{Gate, RequireInternalLayer};
///
/// fn routes(gate: Arc<Gate>) -> Router {
///     Router::new()
///         .route("/internal/lookup", get(|| async { "found" }))
///         .route_layer(RequireInternalLayer::new(gate))
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a layer protects nothing until it is put on a service"]
pub struct RequireInternalLayer {
    gate: Arc<Gate>,
}

impl RequireInternalLayer {
    /// A layer for a gate, shared or not yet.
    pub fn new(gate: impl Into<Arc<Gate>>) -> Self {
        Self { gate: gate.into() }
    }
}

impl<S> Layer<S> for RequireInternalLayer {
    type Service = RequireInternalService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RequireInternalService { inner, gate: Arc::clone(&self.gate) }
    }
}

/// A service for our own services alone, as [`RequireInternalLayer`] makes it.
#[derive(Clone, Debug)]
#[must_use = "a service that is not called protects nothing"]
pub struct RequireInternalService<S> {
    inner: S,
    gate: Arc<Gate>,
}

impl<S, B, R> Service<Request<B>> for RequireInternalService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match internal(&self.gate, request.headers(), request.extensions()) {
            Some(_) => ResponseFuture::passed(self.inner.call(request), None),
            None => ResponseFuture::answered(to_response(&self.gate.unauthorized(), request.method())),
        }
    }
}
