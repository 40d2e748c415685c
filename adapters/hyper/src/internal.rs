use std::sync::Arc;

use hyper::service::Service;
use hyper::{Request, Response};
use tollgate_http::v1::{self, NotInternal, Responding};
use tollgate_http::{Checkpoint, Gate, ServiceName};

use crate::body::ResponseBody;
use crate::service::TollgateService;

/// The service that calls, for handlers that route by hand and keep a route for our own services.
///
/// Inside [`Tollgate`](crate::Tollgate) with the same gate that decision is heeded and nothing is compared again; then a
/// forger gets 401 while its budget lasts, and 429 after. For a whole service there is [`RequireInternal`].
///
/// # Errors
/// If the request carries no valid credential.
pub fn require_internal<B>(gate: &Gate, request: &Request<B>) -> Result<ServiceName, NotInternal> {
    v1::require_internal(gate, &request.into())
}

/// Keeps a whole service for our own services: anybody else is answered with `401 Unauthorized`.
///
/// It limits nobody. Inside [`Tollgate`](crate::Tollgate) it heeds the decision as [`require_internal`] does.
#[derive(Clone, Debug)]
#[must_use = "a service that is not called protects nothing"]
pub struct RequireInternal<S>(TollgateService<S>);

impl<S> RequireInternal<S> {
    /// A guard before a service, by the credentials of a gate.
    pub fn new(inner: S, gate: impl Into<Arc<Gate>>) -> Self {
        Self(TollgateService { inner, checkpoint: Checkpoint::guard(gate), peer: None })
    }
}

impl<S, B, R> Service<Request<B>> for RequireInternal<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = Responding<S, B, S::Future, Result<Self::Response, S::Error>>;

    fn call(&self, request: Request<B>) -> Self::Future {
        self.0.call(request)
    }
}
