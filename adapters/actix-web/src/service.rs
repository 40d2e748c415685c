use std::sync::Arc;

use actix_web::body::EitherBody;
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, forward_ready};
use actix_web::{Error, HttpMessage};
use tollgate_http::Gate;

use crate::future::ResponseFuture;
use crate::head::{Head, TermsOf};
use crate::peer::{ADVICE, Headers, Stripped};
use crate::response::to_response;

/// A service with a [`Gate`] before it, as [`Tollgate`](crate::Tollgate) makes it.
#[derive(Clone, Debug)]
#[must_use = "a service that is not called limits nobody"]
pub struct TollgateService<S> {
    inner: S,
    gate: Arc<Gate>,
    terms: Option<TermsOf>,
}

impl<S> TollgateService<S> {
    pub(crate) fn new(inner: S, gate: Arc<Gate>, terms: Option<TermsOf>) -> Self {
        Self { inner, gate, terms }
    }
}

impl<S, B> Service<ServiceRequest> for TollgateService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Future = ResponseFuture<S::Future, B>;

    forward_ready!(inner);

    fn call(&self, mut request: ServiceRequest) -> Self::Future {
        let gate = &self.gate;
        let terms = match &self.terms {
            Some(terms) => terms.call(&Head::of(&request, &request.extensions()), gate.terms()),
            None => gate.terms(),
        };
        // Not `ConnectionInfo`, which believes what the client writes.
        let peer = request.peer_addr().map(|peer| peer.ip());
        let admitted = terms.admit(peer, &Headers::of(request.headers(), &request.extensions()));
        let Ok((decision, permit)) = admitted else {
            return ResponseFuture::answered(request.into_response(to_response(&gate.no_peer(ADVICE))));
        };
        if decision.lacks_peer() {
            gate.tell_uncounted(ADVICE);
        }
        let refusal = gate.refusal(&decision, &Headers::of(request.headers(), &request.extensions()));
        if let Some(refusal) = refusal {
            let mut response = to_response(&refusal);
            // For outer middleware: who was refused, and why.
            response.extensions_mut().insert(decision);
            return ResponseFuture::answered(request.into_response(response));
        }
        if gate.strips_credential(&decision) {
            Stripped::take(gate.credential_header(), &mut request);
        }
        request.extensions_mut().insert(decision);
        ResponseFuture::passed(self.inner.call(request), permit)
    }
}
