//! The least that a limiter's layer can cost: one that decides nothing, adds fields that are ready, and refuses with an answer
//! that is; and one that decides by the core alone and tells both sides.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};

use axum::extract::ConnectInfo;
use http::header::{HeaderName, HeaderValue};
use http::{Request, Response, StatusCode};
use hyper::body::Bytes;
use rustix::time::{ClockId, clock_gettime};
use tollgate::{Limiter, Nanos, Presented, Quota, Standing, Verdict};
use tower_layer::Layer;
use tower_service::Service;

use crate::subjects::{KEYER, address};

/// What becomes of every request.
#[derive(Clone, Copy)]
pub enum Floor {
    /// Its response gets so many of the fields that a gate writes.
    Passes(usize),
    /// The core decides by the peer's address and the coarse clock, the application finds in the request's extensions where
    /// the caller stands, and the response gets two fields, of which one says so. There are no credentials, no policies,
    /// no trusted proxies, no settling with the response's status and no list of the throttled: whatever tells as much costs
    /// no less.
    Decides,
    /// The same with all that a gate of one policy does for an ordinary request, written by hand in one piece: the request is
    /// looked through for a credential, what is decided is of a [`Decision`](tollgate_axum::Decision)'s size and shared by the
    /// application and the response's future, the limiter has owners, and the response's status and extensions are looked at
    /// before it is told. Whatever a gate may be set to is left out.
    Parts,
    /// It is answered with a refusal of as many fields and bytes as a gate's.
    Refused,
}

/// A service with a [`Floor`] before it.
#[derive(Clone)]
pub struct Floored<S> {
    inner: S,
    floor: Floor,
}

impl Floor {
    /// The service of hyper's, or of tower's.
    pub fn wrap<S>(self, inner: S) -> Floored<S> {
        Floored { inner, floor: self }
    }

    fn before<B, F>(self, mut request: Request<B>, call: impl FnOnce(Request<B>) -> F) -> Answering<F> {
        let (mut standing, mut kept) = (None, None);
        let fields = match self {
            Self::Passes(fields) => fields,
            Self::Refused => FIELDS.len(),
            Self::Decides => {
                standing = decided(peer_of(&request));
                request.extensions_mut().insert(standing);
                1
            }
            Self::Parts => {
                if !request.headers().contains_key(&CREDENTIAL) {
                    kept = decided(peer_of(&request)).map(Shared::new);
                    kept.clone().map(|shared| request.extensions_mut().insert(shared.decision));
                }
                0
            }
        };
        let inner = if matches!(self, Self::Refused) { None } else { Some(call(request)) };
        Answering { inner, fields, standing, kept }
    }
}

/// With hyper alone one caller is as good as another.
pub(crate) fn peer_of<B>(request: &Request<B>) -> IpAddr {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    peer.unwrap_or_else(|| address(1))
}

/// What a response's future keeps of a decision.
#[derive(Clone)]
pub struct Shared {
    /// For the application.
    pub decision: Decided,
    _owner: Arc<()>,
}

/// Where a caller stands, in as many bytes as a gate's decision has.
#[derive(Clone)]
pub struct Decided(Arc<(Standing, [u64; 8])>);

impl Shared {
    /// Of a request that was admitted.
    pub fn new(standing: Standing) -> Self {
        let more = [standing.remaining.into(); 8];
        Self { decision: Decided(Arc::new((standing, more))), _owner: Arc::clone(&OWNER) }
    }

    /// The value of `RateLimit`.
    pub fn told(&self) -> Vec<u8> {
        told(self.decision.0.0)
    }
}

/// What every request counts as one of its owners.
static OWNER: LazyLock<Arc<()>> = LazyLock::new(Arc::default);

/// A credential's field.
static CREDENTIAL: HeaderName = HeaderName::from_static("x-internal-token");

/// A value that was made while the program ran.
pub(crate) static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    HeaderValue::from_maybe_shared(Bytes::from(FIELDS[0].1.to_owned()))
        .unwrap_or_else(|_| HeaderValue::from_static(""))
});

/// Where a caller stands after a request of its own, as the core says.
pub fn decided(peer: IpAddr) -> Option<Standing> {
    match LIMITER.check(KEYER.address(peer), Presented::Absent, now()) {
        Verdict::Admitted(standing) => Some(standing),
        Verdict::Refused(_) | Verdict::Exempt(_) => None,
    }
}

/// By the coarse clock.
pub(crate) fn now() -> Nanos {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    Nanos::from_secs(part(now.tv_sec)).saturating_add(Nanos(part(now.tv_nsec)))
}

/// Nobody is refused here.
static LIMITER: Limiter<2048> = Limiter::new(Quota::per_minute(4_000_000));

/// `"default";r=299;t=60`.
pub fn told(standing: Standing) -> Vec<u8> {
    let (mut number, mut value) = (itoa::Buffer::new(), Vec::with_capacity(32));
    value.extend_from_slice(b"\"default\";r=");
    value.extend_from_slice(number.format(standing.remaining).as_bytes());
    value.extend_from_slice(b";t=");
    value.extend_from_slice(number.format(standing.resets_in.0.div_ceil(1_000_000_000)).as_bytes());
    value
}

impl<S> Layer<S> for Floor {
    type Service = Floored<S>;

    fn layer(&self, inner: S) -> Floored<S> {
        self.wrap(inner)
    }
}

impl<S, B, R> Service<Request<B>> for Floored<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.floor.before(request, |request| self.inner.call(request))
    }
}

impl<S, B, R> hyper::service::Service<Request<B>> for Floored<S>
where
    S: hyper::service::Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn call(&self, request: Request<B>) -> Self::Future {
        self.floor.before(request, |request| self.inner.call(request))
    }
}

pin_project_lite::pin_project! {
    /// The response of a [`Floored`] service.
    pub struct Answering<F> {
        #[pin]
        inner: Option<F>,
        fields: usize,
        standing: Option<Standing>,
        kept: Option<Shared>,
    }
}

impl<F: Future<Output = Result<Response<R>, E>>, R: From<Bytes>, E> Future for Answering<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let result = match this.inner.as_pin_mut() {
            Some(inner) => ready!(inner.poll(cx)),
            None => Ok(refused()),
        };
        Poll::Ready(result.map(|mut response| {
            for (name, value) in READY.iter().take(*this.fields) {
                response.headers_mut().append(name, value.clone());
            }
            if let Some(standing) = *this.standing
                && let Ok(value) = HeaderValue::from_bytes(&told(standing))
            {
                response.headers_mut().append(const { HeaderName::from_static("ratelimit") }, value);
            }
            if let Some(kept) = this.kept
                && !matches!(response.status(), StatusCode::IM_A_TEAPOT)
                && response.extensions().get::<Decided>().is_none()
                && let Ok(value) = HeaderValue::from_bytes(&kept.told())
            {
                let headers = response.headers_mut();
                headers.append(const { HeaderName::from_static("ratelimit-policy") }, POLICY.clone());
                headers.append(const { HeaderName::from_static("ratelimit") }, value);
            }
            response
        }))
    }
}

fn refused<R: From<Bytes>>() -> Response<R> {
    let mut response = Response::new(R::from(body()));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response
}

/// As long a body as a refusal's.
pub fn body() -> Bytes {
    Bytes::from_static(&[b' '; 300])
}

/// Fields of a gate's.
pub const FIELDS: [(&str, &str); 5] = [
    ("ratelimit-policy", "\"default\";q=300;w=60"),
    ("ratelimit", "\"default\";r=299;t=60"),
    ("x-ratelimit-limit", "300"),
    ("x-ratelimit-remaining", "299"),
    ("x-ratelimit-reset", "60"),
];

/// The same, with names and values that nothing need be done for.
static READY: [(HeaderName, HeaderValue); FIELDS.len()] = {
    let [a, b, c, d, e] = FIELDS;
    [ready(a), ready(b), ready(c), ready(d), ready(e)]
};

const fn ready((name, value): (&'static str, &'static str)) -> (HeaderName, HeaderValue) {
    (HeaderName::from_static(name), HeaderValue::from_static(value))
}
