use std::net::IpAddr;

use hyper::service::Service;
use hyper::{Request, Response};
use tollgate_http::v1::{Headers, refused, strip, to_response};

use crate::body::ResponseBody;
use crate::future::ResponseFuture;
use crate::head::Head;
use crate::peer::ADVICE;
use crate::tollgate::Tollgate;

/// A connection's service with a [`Gate`](crate::Gate) before it, as [`Tollgate::wrap`] makes it.
#[derive(Clone, Debug)]
#[must_use = "a service that is not called limits nobody"]
pub struct TollgateService<S> {
    pub(crate) inner: S,
    pub(crate) tollgate: Tollgate,
    pub(crate) peer: Option<IpAddr>,
}

impl<S, B, R> Service<Request<B>> for TollgateService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn call(&self, mut request: Request<B>) -> Self::Future {
        let gate = &self.tollgate.gate;
        let terms = match &self.tollgate.terms {
            Some(terms) => terms(&Head::of(&request), gate.terms()),
            None => gate.terms(),
        };
        let fields = Headers::of(request.headers(), request.extensions());
        let Ok((decision, permit)) = terms.admit(self.peer, &fields) else {
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
