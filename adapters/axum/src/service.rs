use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use tollgate_http::Gate;
use tollgate_http::v1::{Headers, refused, strip, to_response};
use tower_service::Service;

use crate::future::ResponseFuture;
use crate::head::{Head, TermsOf};
use crate::peer::{ADVICE, peer};

/// A service with a [`Gate`] before it, as [`TollgateLayer`](crate::TollgateLayer) makes it.
#[derive(Clone, Debug)]
#[must_use = "a service that is not called limits nobody"]
pub struct Tollgate<S> {
    inner: S,
    gate: Arc<Gate>,
    terms: Option<TermsOf>,
}

impl<S> Tollgate<S> {
    pub(crate) fn new(inner: S, gate: Arc<Gate>, terms: Option<TermsOf>) -> Self {
        Self { inner, gate, terms }
    }
}

impl<S, B, R> Service<Request<B>> for Tollgate<S>
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

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let gate = &self.gate;
        let terms = match &self.terms {
            Some(terms) => terms.call(&Head::of(&request), gate.terms()),
            None => gate.terms(),
        };
        let fields = Headers::of(request.headers(), request.extensions());
        let Ok((decision, permit)) = terms.admit(peer(request.extensions()), &fields) else {
            return ResponseFuture::answered(to_response(&gate.no_peer(ADVICE), request.method()));
        };
        if decision.lacks_peer() {
            gate.tell_uncounted(ADVICE);
        }
        if let Some(refusal) = gate.refusal(&decision, &fields) {
            return ResponseFuture::answered(refused(&refusal, request.method(), decision));
        }
        strip(gate, &decision, &mut request);
        request.extensions_mut().insert(decision);
        ResponseFuture::passed(self.inner.call(request), permit)
    }
}
