use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use tollgate_http::{Answer, Gate};
use tower_service::Service;

use crate::future::ResponseFuture;
use crate::peer::{credential, no_peer, peer};
use crate::response::to_response;

/// A service with a [`Gate`] before it, as [`TollgateLayer`](crate::TollgateLayer) makes it.
#[derive(Clone, Debug)]
#[must_use = "a service that is not called limits nobody"]
pub struct Tollgate<S> {
    inner: S,
    gate: Arc<Gate>,
}

impl<S> Tollgate<S> {
    pub(crate) fn new(inner: S, gate: Arc<Gate>) -> Self {
        Self { inner, gate }
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
        let extensions = request.extensions();
        let Ok(decision) = self.gate.decide(peer(extensions), credential(&self.gate, request.headers()))
        else {
            no_peer("Answered with 500.");
            return ResponseFuture::answered(to_response(&Answer::no_peer()));
        };
        if decision.lacks_peer() {
            no_peer("Passed uncounted, in shadow mode.");
        }
        if let Some(refusal) = self.gate.refusal(&decision) {
            let mut response = to_response(&refusal);
            // For outer layers: who was refused, and why.
            response.extensions_mut().insert(decision);
            return ResponseFuture::answered(response);
        }
        let fields = self.gate.fields(&decision);
        request.extensions_mut().insert(decision);
        ResponseFuture::passed(self.inner.call(request), fields)
    }
}
