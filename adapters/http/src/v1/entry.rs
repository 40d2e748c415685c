use std::net::IpAddr;

use bytes::Bytes;
use http::{Extensions, Request, Response};

use crate::checkpoint::{self, Checkpoint};
use crate::decision::Decision;
use crate::gate::Gate;
use crate::pending::{Heard, Pending};
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
///
/// # Errors
/// If the store of a shared gate has to be asked: see [`later`](super::later).
pub fn enter<B, R: From<Bytes>>(
    checkpoint: &Checkpoint<TermsOf>,
    request: &mut Request<B>,
    peer: impl Fn(&Extensions) -> Option<IpAddr>,
    advice: &str,
) -> Result<Entry<R>, Pending> {
    let head = Head::from(&*request);
    let fields = Headers::of(&head);
    let (peer, decided) = (peer(head.extensions), || head.extensions.get());
    let gate = checkpoint.gate();
    match checkpoint.go_straight(peer.as_ref(), &fields) {
        Ok(permit) => {
            prepare(gate, permit.decision().clone(), request);
            Ok(Entry::Passes(Some(permit)))
        }
        Err(aside) => {
            let entry =
                aside.enter(|terms, ordinary| terms(&head, ordinary), peer, decided, &fields, advice)?;
            Ok(prepared(gate, entry, request))
        }
    }
}

/// The same for a request that had to wait, once the store has answered.
#[cold]
pub fn finish<B, R: From<Bytes>>(heard: Heard, request: &mut Request<B>) -> Entry<R> {
    let (gate, entry) = heard.finish(&Headers::of(&Head::from(&*request)));
    prepared(&gate, entry, request)
}

fn prepared<B, R: From<Bytes>>(gate: &Gate, entry: checkpoint::Entry, request: &mut Request<B>) -> Entry<R> {
    match entry {
        checkpoint::Entry::Passes { decision, permit } => {
            if let Some(decision) = decision {
                prepare(gate, decision, request);
            }
            Entry::Passes(permit)
        }
        checkpoint::Entry::Answered(reply) => Entry::Answered(to_response(reply, request.method())),
    }
}

#[inline]
fn prepare<B>(gate: &Gate, decision: Decision, request: &mut Request<B>) {
    strip(gate, &decision, request);
    request.extensions_mut().insert(decision);
}
