//! The least that a limiter's layer can cost: one that decides nothing, adds fields that are ready, and refuses with an answer
//! that is.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::header::{HeaderName, HeaderValue};
use http::{Request, Response, StatusCode};
use hyper::body::Bytes;
use tower_layer::Layer;
use tower_service::Service;

/// What becomes of every request.
#[derive(Clone, Copy)]
pub enum Floor {
    /// Its response gets so many of the fields that a gate writes.
    Passes(usize),
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
        match self.floor {
            Floor::Passes(fields) => Answering { inner: Some(self.inner.call(request)), fields },
            Floor::Refused => Answering { inner: None, fields: FIELDS.len() },
        }
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
        match self.floor {
            Floor::Passes(fields) => Answering { inner: Some(self.inner.call(request)), fields },
            Floor::Refused => Answering { inner: None, fields: FIELDS.len() },
        }
    }
}

pin_project_lite::pin_project! {
    /// The response of a [`Floored`] service.
    pub struct Answering<F> {
        #[pin]
        inner: Option<F>,
        fields: usize,
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
            response
        }))
    }
}

fn refused<R: From<Bytes>>() -> Response<R> {
    let mut response = Response::new(R::from(Bytes::from_static(&[b' '; 300])));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response
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
