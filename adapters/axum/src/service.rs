use std::{mem, task::Context, task::Poll};

use bytes::Bytes;
use http::{Request, Response};
use tollgate_http::v1::{Entry, Responding, TermsOf, enter, later, settle};
use tollgate_http::{Checkpoint, ResponseFuture};
use tower_service::Service;

use crate::peer::{ADVICE, peer};

/// A service with a [`Gate`](crate::Gate) before it, as the layers of this crate make it.
#[derive(Clone, Debug)]
#[must_use = "a service that is not called limits nobody"]
pub struct Tollgate<S> {
    pub(crate) inner: S,
    pub(crate) checkpoint: Checkpoint<TermsOf>,
}

impl<S, B, R> Service<Request<B>> for Tollgate<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    R: From<Bytes>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Responding<S, B, S::Future, Result<Response<R>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        match enter(&self.checkpoint, &mut request, peer, ADVICE) {
            Ok(Entry::Passes(permit)) => ResponseFuture::passed(self.inner.call(request), permit, settle),
            Ok(Entry::Answered(response)) => ResponseFuture::answered(Ok(response)),
            Err(pending) => {
                // The one that was polled ready is called.
                let next = self.inner.clone();
                let inner = mem::replace(&mut self.inner, next);
                later(pending, inner, request, |mut inner, request| inner.call(request), settle)
            }
        }
    }
}
