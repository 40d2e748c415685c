use std::sync::Arc;

use hyper::body::Bytes;
use hyper::service::Service;
use hyper::{Method, Request, Response};
use tollgate_http::v1::{internal, to_response};
use tollgate_http::{Answer, Gate, ServiceName};

use crate::body::ResponseBody;
use crate::future::ResponseFuture;

/// The service that calls, for handlers that route by hand and keep a route for our own services.
///
/// Inside [`Tollgate`](crate::Tollgate) with the same gate that decision is heeded and nothing is compared again; then a
/// forger gets 401 while its budget lasts, and 429 after. For a whole service there is [`RequireInternal`].
///
/// # Errors
/// If the request carries no valid credential.
pub fn require_internal<B>(gate: &Gate, request: &Request<B>) -> Result<ServiceName, NotInternal> {
    internal(gate, request.headers(), request.extensions()).ok_or_else(|| NotInternal {
        answer: Box::new(gate.unauthorized()),
        method: request.method().clone(),
    })
}

/// The request carries no valid credential. Answered with `401 Unauthorized` and `WWW-Authenticate`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotInternal {
    answer: Box<Answer>,
    method: Method,
}

impl NotInternal {
    /// The response, with a body such as `Full<Bytes>`.
    pub fn into_response<R: From<Bytes>>(self) -> Response<R> {
        to_response(&self.answer, &self.method)
    }
}

/// Keeps a whole service for our own services: anybody else is answered with `401 Unauthorized`.
///
/// It limits nobody. Inside [`Tollgate`](crate::Tollgate) it heeds the decision as [`require_internal`] does.
#[derive(Clone, Debug)]
#[must_use = "a service that is not called protects nothing"]
pub struct RequireInternal<S> {
    inner: S,
    gate: Arc<Gate>,
}

impl<S> RequireInternal<S> {
    /// A guard before a service, by the credentials of a gate.
    pub fn new(inner: S, gate: impl Into<Arc<Gate>>) -> Self {
        Self { inner, gate: gate.into() }
    }
}

impl<S, B, R> Service<Request<B>> for RequireInternal<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn call(&self, request: Request<B>) -> Self::Future {
        match internal(&self.gate, request.headers(), request.extensions()) {
            Some(_) => ResponseFuture::passed(self.inner.call(request), None),
            None => ResponseFuture::answered(to_response(&self.gate.unauthorized(), request.method())),
        }
    }
}
