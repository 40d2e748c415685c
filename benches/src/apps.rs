//! The application that frameworks serve here: it answers every request with two bytes.

use std::convert::Infallible;
use std::future::ready;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use actix_web::body::{BoxBody, EitherBody};
use actix_web::dev::{Service, ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use actix_web::{HttpMessage, HttpResponse};
use axum::Router;
use axum::routing::get;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Bytes;
use tollgate_axum::{Gate, GateBuilder, GateError, Nanos, Quota};

use crate::by_hand;
use crate::floor::{self, Decided, FIELDS, Shared};
use crate::subjects::address;

/// What is answered.
pub const ANSWER: &str = "ok";

/// The secret of a service of ours.
pub const SECRET: &str = "a secret of forty bytes for the benchmark";

/// A gate that admits so many requests in a window from one address, and knows one service.
pub fn gate(limit: u32) -> GateBuilder {
    Gate::builder(Quota::new(limit, Nanos::from_secs(WINDOW.as_secs())))
        .capacity(CALLERS * 2)
        .service("edge", SECRET)
}

/// The same with every field that it can write.
///
/// # Errors
/// If it can't be built.
pub fn gate_with_all_fields(limit: u32) -> Result<Arc<Gate>, GateError> {
    gate(limit).legacy_fields(true).build().map(Arc::new)
}

/// The window of limits here, longer than any measurement.
pub const WINDOW: Duration = Duration::from_mins(15);

/// The limit of somebody who is never refused, low enough for the clock that gates read by default.
pub const GENEROUS: u32 = 900;

/// From how many addresses requests come, each in turn.
pub const CALLERS: usize = 1 << 10;

/// The socket's peer of a request.
pub fn peer(request: usize) -> SocketAddr {
    let caller = u32::try_from(request % CALLERS).unwrap_or(0);
    SocketAddr::new(address(caller), 40_000)
}

/// The same without its port.
pub fn peer_address(request: usize) -> IpAddr {
    peer(request).ip()
}

/// The output of a future that waits for nothing.
pub fn now<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// The application with axum.
pub fn axum() -> Router {
    Router::new().route("/", get(async || ANSWER))
}

/// The application with hyper.
///
/// # Errors
/// Never.
#[expect(clippy::unused_async, reason = "hyper's services answer with futures")]
pub async fn hyper<B>(_: Request<B>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(ANSWER.as_bytes()))))
}

/// [`Floor::Passes`](crate::floor::Floor::Passes) with actix-web and so many fields, for `App::wrap_fn`.
///
/// # Errors
/// If the application fails.
pub fn actix_web_ready<const FIELDS: usize, S, B>(
    request: ServiceRequest,
    service: &S,
) -> impl Future<Output = Result<ServiceResponse<B>, actix_web::Error>> + use<FIELDS, S, B>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = actix_web::Error>,
{
    let answering = service.call(request);
    async move {
        let mut response = answering.await?;
        add_ready(response.headers_mut(), FIELDS);
        Ok(response)
    }
}

/// [`Floor::Refused`](crate::floor::Floor::Refused) with actix-web, for `App::wrap_fn`.
///
/// # Errors
/// Never.
pub fn actix_web_refused<S, B>(
    request: ServiceRequest,
    _: &S,
) -> impl Future<Output = Result<ServiceResponse<Bytes>, actix_web::Error>> + use<S, B>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = actix_web::Error>,
{
    let mut response = HttpResponse::with_body(StatusCode::TOO_MANY_REQUESTS, floor::body());
    add_ready(response.headers_mut(), READY.len());
    ready(Ok(request.into_response(response)))
}

/// A [refusal by hand](by_hand) with actix-web, for `App::wrap_fn`.
///
/// # Errors
/// If the application fails.
pub fn actix_web_by_hand<S, B>(
    request: ServiceRequest,
    service: &S,
) -> impl Future<Output = Result<ServiceResponse<EitherBody<B>>, actix_web::Error>> + use<S, B>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = actix_web::Error>,
{
    static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| HeaderValue::from_str(FIELDS[0].1).ok());
    let peer = request.peer_addr().map_or_else(|| address(1), |peer| peer.ip());
    let answering = match by_hand::refused(peer) {
        Some(refused) => {
            let mut response = HttpResponse::new(StatusCode::TOO_MANY_REQUESTS);
            let headers = response.headers_mut();
            if let (Some(policy), Ok(told)) =
                (&*POLICY, HeaderValue::from_maybe_shared(Bytes::from(refused.told)))
            {
                headers.insert(const { HeaderName::from_static("ratelimit-policy") }, policy.clone());
                headers.insert(const { HeaderName::from_static("ratelimit") }, told);
            }
            headers.insert(CONTENT_TYPE, const { HeaderValue::from_static("application/problem+json") });
            headers.insert(RETRY_AFTER, HeaderValue::from_static(refused.seconds));
            headers.insert(CACHE_CONTROL, const { HeaderValue::from_static("no-store") });
            response.extensions_mut().insert(refused.decided);
            let body = BoxBody::new(Bytes::from(refused.body));
            Err(request.into_response(response.set_body(body).map_into_right_body()))
        }
        None => Ok(service.call(request)),
    };
    async move {
        match answering {
            Ok(answering) => answering.await.map(ServiceResponse::map_into_left_body),
            Err(refused) => Ok(refused),
        }
    }
}

fn add_ready(headers: &mut HeaderMap, fields: usize) {
    READY.iter().take(fields).for_each(|(name, value)| headers.append(name.clone(), value.clone()));
}

/// [`FIELDS`] with names and values that nothing need be done for.
static READY: [(HeaderName, HeaderValue); FIELDS.len()] = {
    const fn ready((name, value): (&'static str, &'static str)) -> (HeaderName, HeaderValue) {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    }
    let [a, b, c, d, e] = FIELDS;
    [ready(a), ready(b), ready(c), ready(d), ready(e)]
};

/// [`Floor::Decides`](crate::floor::Floor::Decides) with actix-web, for `App::wrap_fn`.
///
/// # Errors
/// If the application fails.
pub fn actix_web_least<S, B>(
    request: ServiceRequest,
    service: &S,
) -> impl Future<Output = Result<ServiceResponse<B>, actix_web::Error>> + use<S, B>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = actix_web::Error>,
{
    let standing = floor::decided(request.peer_addr().map_or_else(|| address(1), |peer| peer.ip()));
    request.extensions_mut().insert(standing);
    let answering = service.call(request);
    async move {
        let mut response = answering.await?;
        let headers = response.headers_mut();
        let (name, value) = FIELDS[0];
        headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        if let Some(Ok(value)) = standing.map(|standing| HeaderValue::from_bytes(&floor::told(standing))) {
            headers.append(const { HeaderName::from_static("ratelimit") }, value);
        }
        Ok(response)
    }
}

/// [`Floor::Parts`](crate::floor::Floor::Parts) with actix-web, for `App::wrap_fn`.
///
/// # Errors
/// If the application fails.
pub fn actix_web_parts<S, B>(
    request: ServiceRequest,
    service: &S,
) -> impl Future<Output = Result<ServiceResponse<EitherBody<B>>, actix_web::Error>> + use<S, B>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = actix_web::Error>,
{
    static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| HeaderValue::from_str(FIELDS[0].1).ok());
    let mut kept = None;
    if !request.headers().keys().any(|name| name.as_str() == "x-internal-token") {
        let peer = request.peer_addr().map_or_else(|| address(1), |peer| peer.ip());
        kept = floor::decided(peer).map(Shared::new);
        kept.clone().map(|shared| request.extensions_mut().insert(shared.decision));
    }
    let answering = service.call(request);
    async move {
        let mut response = answering.await?;
        if let Some(kept) = kept
            && response.status() != StatusCode::IM_A_TEAPOT
            && response.response().extensions().get::<Decided>().is_none()
            && let (Some(policy), Ok(value)) = (&*POLICY, HeaderValue::from_bytes(&kept.told()))
        {
            let headers = response.headers_mut();
            headers.append(const { HeaderName::from_static("ratelimit-policy") }, policy.clone());
            headers.append(const { HeaderName::from_static("ratelimit") }, value);
        }
        Ok(response.map_into_left_body())
    }
}

/// The application with actix-web.
#[expect(clippy::unused_async, reason = "actix-web's handlers are futures")]
pub async fn actix_web() -> &'static str {
    ANSWER
}
