use std::net::IpAddr;
use std::task::Poll;

use hyper::service::Service;
use hyper::{Request, Response};
use tollgate_http::v1::{Entry, Responding, TermsOf, enter, later, settle};
use tollgate_http::{Checkpoint, Permit, ResponseFuture};

use crate::body::ResponseBody;

/// A connection's service with a [`Gate`](crate::Gate) before it, as [`Tollgate::wrap`](crate::Tollgate::wrap) makes it.
#[derive(Clone, Debug)]
#[must_use = "a service that is not called limits nobody"]
pub struct TollgateService<S> {
    pub(crate) inner: S,
    pub(crate) checkpoint: Checkpoint<TermsOf>,
    pub(crate) peer: Option<IpAddr>,
}

impl<S, B, R> Service<Request<B>> for TollgateService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = Responding<S, B, S::Future, Result<Self::Response, S::Error>>;

    fn call(&self, mut request: Request<B>) -> Self::Future {
        match enter(&self.checkpoint, &mut request, |_| self.peer, ADVICE) {
            Ok(Entry::Passes(permit)) => ResponseFuture::passed(self.inner.call(request), permit, settled),
            Ok(Entry::Answered(response)) => ResponseFuture::answered(Ok(response)),
            Err(pending) => {
                let call = |inner: S, request| inner.call(request);
                later(pending, self.inner.clone(), request, call, settled)
            }
        }
    }
}

fn settled<R, E>(
    permit: &mut Option<Permit>,
    polled: Poll<Result<Response<R>, E>>,
) -> Poll<Result<Response<ResponseBody<R>>, E>> {
    settle(permit, polled).map_ok(|response| response.map(ResponseBody::passed))
}

/// How the peer's address gets to a gate.
const ADVICE: &str = "with hyper, pass the address that `TcpListener::accept` returned with the connection: \
     `tollgate.wrap(service, Some(peer.ip()))`.";
