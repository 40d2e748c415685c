use std::net::IpAddr;

use bytes::Bytes;
use http::{Extensions, Request, Response};

use crate::checkpoint::{self, Checkpoint};
use crate::permit::Permit;
use crate::v1::head::{Head, TermsOf};
use crate::v1::headers::{Headers, strip};
use crate::v1::response::to_response;

/// What becomes of a request at a [`Checkpoint`].
#[derive(Debug)]
#[must_use = "an entry that nobody heeds keeps nobody out"]
pub enum Entry<R> {
    /// The application is called, and its response settles the permit.
    Passes(Option<Permit>),
    /// The gate's own response is sent, and the application does not see the request.
    Answered(Response<R>),
}

/// Asks whether a request goes on, and prepares it for the application: it carries the decision, and the credential no
/// longer if the gate takes it away.
///
/// `peer` finds the address that the connection comes from; `advice` tells the operator how it gets there.
pub fn enter<B, R: From<Bytes>>(
    checkpoint: &Checkpoint<TermsOf>,
    request: &mut Request<B>,
    peer: impl Fn(&Extensions) -> Option<IpAddr>,
    advice: &str,
) -> Entry<R> {
    let head = Head::from(&*request);
    let fields = Headers::of(&head);
    let (peer, decided) = (peer(head.extensions), head.extensions.get());
    match checkpoint.enter(|terms, ordinary| terms(&head, ordinary), peer, decided, &fields, advice) {
        checkpoint::Entry::Passes { decision, permit } => {
            if let Some(decision) = decision {
                strip(checkpoint.gate(), &decision, request);
                request.extensions_mut().insert(decision);
            }
            Entry::Passes(permit)
        }
        checkpoint::Entry::Answered { answer, decision } => {
            let mut response = to_response(*answer, request.method());
            if let Some(decision) = decision {
                response.extensions_mut().insert(decision);
            }
            Entry::Answered(response)
        }
    }
}
