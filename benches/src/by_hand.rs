//! A refusal by hand, in one piece: the core decides, the caller is put on the list of the throttled, what was decided is kept
//! for whoever is further outside, and the values of the fields and the body say how long to wait. Whatever a gate may be set to
//! is left out, and so is what it asks of a request: its credential, whether it is of gRPC, and what may tell callers apart.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Bytes;
use tollgate::{Limiter, Nanos, Presented, Quota, Refusal, Sighting, Verdict, Watch};
use tower_layer::Layer;
use tower_service::Service;

use crate::apps::WINDOW;
use crate::floor::{POLICY, now, peer_of};
use crate::subjects::KEYER;

/// A request that was refused.
pub struct Refused {
    /// What was decided.
    pub decided: Decided,
    /// The value of `RateLimit`.
    pub told: Vec<u8>,
    /// The value of `Retry-After`, which no memory is asked for.
    pub seconds: &'static str,
    /// The body.
    pub body: String,
}

/// What was decided, in as many bytes as a gate's decision has.
#[derive(Clone)]
pub struct Decided(Arc<(Refusal, [u64; 12])>);

impl Decided {
    /// For whoever is further outside.
    pub fn refusal(&self) -> Refusal {
        self.0.0
    }
}

/// Decides a request of this caller, who may make one; `None` if it passes.
pub fn refused(peer: IpAddr) -> Option<Refused> {
    let (key, now) = (KEYER.address(peer), now());
    let Verdict::Refused(refusal) = LIMITER.check(key, Presented::Absent, now) else { return None };
    let _ = LIST.record(&Sighting::refused(key, now));
    let wait = refusal.retry_after.0.div_ceil(1_000_000_000);
    let seconds = usize::try_from(wait).ok().and_then(|wait| SECONDS.get(wait)).map_or("", String::as_str);
    let told = [&b"\"default\";r=0;t="[..], seconds.as_bytes()].concat();
    let body = [LONG, seconds, " s.\"}"].concat();
    Some(Refused { decided: Decided(Arc::new((refusal, [wait; 12]))), told, seconds, body })
}

/// As many as a window has, ready.
static SECONDS: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..=WINDOW.as_secs()).map(|number| number.to_string()).collect());

static LIMITER: LazyLock<Limiter<2048>> = LazyLock::new(|| Limiter::new(Quota::new(1, window(1))));

static LIST: LazyLock<Box<Watch<64>>> = LazyLock::new(|| Box::new(Watch::new(window(2))));

fn window(times: u64) -> Nanos {
    Nanos::from_secs(times * WINDOW.as_secs())
}

/// As much as a problem's type, title and detail.
const LONG: &str = match str::from_utf8(&[b'-'; 290]) {
    Ok(text) => text,
    Err(_) => "",
};

/// A layer that refuses by hand, and hyper's service or tower's behind it.
#[derive(Clone, Copy)]
pub struct Refusing<S = ()> {
    inner: S,
    /// Where the connection comes from, if its requests do not say so.
    peer: Option<IpAddr>,
}

impl Refusing {
    /// The layer.
    pub const LAYER: Self = Self { inner: (), peer: None };

    /// The service of hyper's, of one connection.
    pub fn wrap<S>(inner: S, peer: IpAddr) -> Refusing<S> {
        Refusing { inner, peer: Some(peer) }
    }
}

impl<S> Refusing<S> {
    fn answer<B, R: From<Bytes>>(&self, request: &Request<B>) -> Option<Response<R>> {
        refused(self.peer.unwrap_or_else(|| peer_of(request))).map(written)
    }
}

impl<S> Layer<S> for Refusing {
    type Service = Refusing<S>;

    fn layer(&self, inner: S) -> Refusing<S> {
        Refusing { inner, peer: self.peer }
    }
}

impl<S, B, R> Service<Request<B>> for Refusing<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Answering<S::Future, Response<R>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let refusal = self.answer(&request);
        let inner = if refusal.is_none() { Some(self.inner.call(request)) } else { None };
        Answering { inner, refusal }
    }
}

impl<S, B, R> hyper::service::Service<Request<B>> for Refusing<S>
where
    S: hyper::service::Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Answering<S::Future, Response<R>>;

    fn call(&self, request: Request<B>) -> Self::Future {
        let refusal = self.answer(&request);
        let inner = if refusal.is_none() { Some(self.inner.call(request)) } else { None };
        Answering { inner, refusal }
    }
}

fn written<R: From<Bytes>>(refused: Refused) -> Response<R> {
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(const { HeaderName::from_static("ratelimit-policy") }, POLICY.clone());
    if let Ok(told) = HeaderValue::from_maybe_shared(Bytes::from(refused.told)) {
        headers.insert(const { HeaderName::from_static("ratelimit") }, told);
    }
    headers.insert(CONTENT_TYPE, const { HeaderValue::from_static("application/problem+json") });
    headers.insert(RETRY_AFTER, HeaderValue::from_static(refused.seconds));
    headers.insert(CACHE_CONTROL, const { HeaderValue::from_static("no-store") });
    let mut response = Response::new(Bytes::from(refused.body).into());
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    *response.headers_mut() = headers;
    response.extensions_mut().insert(refused.decided);
    response
}

pin_project_lite::pin_project! {
    /// The response of a [`Refusing`] service.
    pub struct Answering<F, R> {
        #[pin]
        inner: Option<F>,
        refusal: Option<R>,
    }
}

impl<F: Future<Output = Result<R, E>>, R, E> Future for Answering<F, R> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        match (this.inner.as_pin_mut(), this.refusal.take()) {
            (Some(inner), _) => inner.poll(cx),
            (None, Some(refusal)) => Poll::Ready(Ok(refusal)),
            (None, None) => Poll::Pending,
        }
    }
}
