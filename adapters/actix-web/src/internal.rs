use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::body::EitherBody;
use actix_web::dev::{Payload, Service, ServiceRequest, ServiceResponse, Transform, forward_ready};
use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest, HttpResponse, ResponseError, web};
use tollgate_http::{Answer, Gate, ServiceName};

use crate::future::ResponseFuture;
use crate::peer::Headers;
use crate::response::to_response;

/// Lets a handler run for our own services alone: an extractor with the service's name.
///
/// It answers anybody else with `401 Unauthorized`. The gate comes from the application's data (`web::Data<Gate>`,
/// which `web::Data::from` makes of an `Arc<Gate>`); if [`Tollgate`](crate::Tollgate) with the same gate is around the
/// route, its decision is heeded and nothing is compared again. For whole scopes there is [`RequireInternalLayer`].
///
/// ```
/// use std::sync::Arc;
/// use actix_web::web;
/// use tollgate_actix_web::{Gate, RequireInternal};
///
/// async fn lookup(RequireInternal(service): RequireInternal) -> String {
///     format!("hello, {service}")
/// }
///
/// fn routes(gate: Arc<Gate>) -> impl FnOnce(&mut web::ServiceConfig) {
///     |config| {
///         config.app_data(web::Data::from(gate)).route("/internal/lookup", web::get().to(lookup));
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequireInternal(pub ServiceName);

impl FromRequest for RequireInternal {
    /// [`NotInternal`], or [`NoGate`].
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(match request.app_data::<web::Data<Gate>>() {
            None => Err(NoGate.into()),
            Some(gate) => match internal(gate, request, request.headers()) {
                Some(service) => Ok(Self(service)),
                None => Err(NotInternal(Box::new(gate.unauthorized())).into()),
            },
        })
    }
}

/// The request carries no valid credential. Answered with `401 Unauthorized` and `WWW-Authenticate`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the request carries no valid credential of one of our own services")]
pub struct NotInternal(Box<Answer>);

impl ResponseError for NotInternal {
    fn status_code(&self) -> StatusCode {
        StatusCode::UNAUTHORIZED
    }

    fn error_response(&self) -> HttpResponse {
        to_response(&self.0)
    }
}

/// The application's data has no gate for [`RequireInternal`] to ask. Answered with 500.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "no gate can be asked who calls: add `.app_data(web::Data::from(gate))`, where gate is an `Arc<Gate>`"
)]
pub struct NoGate;

impl ResponseError for NoGate {
    fn error_response(&self) -> HttpResponse {
        tracing::error!("{self}. Answered with 500.");
        HttpResponse::new(self.status_code())
    }
}

/// Keeps a scope or a resource for our own services: a middleware that answers anybody else with `401 Unauthorized`.
///
/// It limits nobody. Inside [`Tollgate`](crate::Tollgate) with the same gate it heeds that decision and compares
/// nothing again; then a forger gets 401 while its budget lasts, and 429 after.
///
/// ```
/// use std::sync::Arc;
/// use actix_web::web;
/// use tollgate_actix_web::{Gate, RequireInternalLayer};
///
/// fn routes(gate: Arc<Gate>) -> impl FnOnce(&mut web::ServiceConfig) {
///     |config| {
///         let lookup = web::get().to(|| async { "found" });
///         config.service(
///             web::scope("/internal").wrap(RequireInternalLayer::new(gate)).route("/lookup", lookup),
///         );
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a middleware protects nothing until something is wrapped in it"]
pub struct RequireInternalLayer {
    gate: Arc<Gate>,
}

impl RequireInternalLayer {
    /// A middleware for a gate, shared or not yet.
    pub fn new(gate: impl Into<Arc<Gate>>) -> Self {
        Self { gate: gate.into() }
    }
}

impl<S, B> Transform<S, ServiceRequest> for RequireInternalLayer
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Transform = RequireInternalService<S>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        ready(Ok(RequireInternalService { inner, gate: Arc::clone(&self.gate) }))
    }
}

/// A service for our own services alone, as [`RequireInternalLayer`] makes it.
#[derive(Clone, Debug)]
#[must_use = "a service that is not called protects nothing"]
pub struct RequireInternalService<S> {
    inner: S,
    gate: Arc<Gate>,
}

impl<S, B> Service<ServiceRequest> for RequireInternalService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Future = ResponseFuture<S::Future, B>;

    forward_ready!(inner);

    fn call(&self, request: ServiceRequest) -> Self::Future {
        match internal(&self.gate, &request, request.headers()) {
            Some(_) => ResponseFuture::passed(self.inner.call(request), None),
            None => ResponseFuture::answered(request.into_response(to_response(&self.gate.unauthorized()))),
        }
    }
}

fn internal(gate: &Gate, request: &impl HttpMessage, headers: &HeaderMap) -> Option<ServiceName> {
    let extensions = request.extensions();
    gate.internal(extensions.get(), &Headers::of(headers, &extensions))
}
