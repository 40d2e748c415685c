use std::{cell::RefCell, future::Ready, future::ready, rc::Rc, sync::Arc, task::Poll};

use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready};
use actix_web::http::{StatusCode, header::HeaderName, header::HeaderValue};
use actix_web::{Error, HttpResponse, body::BoxBody, body::EitherBody};
use tollgate_http::{Checkpoint, Entry, Gate, Heard, Merge, Permit};
use tollgate_http::{Reply, Responding, Terms, Written, types};

use crate::request::{Head, prepare};

/// Puts a [`Gate`] before an application, a scope or a resource, in [this order](https://docs.rs/tollgate-http/latest/tollgate_http/#order).
/// All from one gate share its budgets: build it outside of the closure that `HttpServer::new` is given.
pub type Tollgate = Middleware<false>;

/// Keeps a scope or a resource for our own services: it answers anybody else with `401 Unauthorized`, and limits nobody.
pub type RequireInternalLayer = Middleware<true>;

/// [`Tollgate`] or [`RequireInternalLayer`], and around `S` the service that it makes.
#[derive(Clone, Debug)]
#[must_use = "a middleware limits nobody until something is wrapped in it"]
pub struct Middleware<const GUARDS: bool, S = ()> {
    inner: S,
    checkpoint: Checkpoint<TermsOf>,
}

type TermsOf = dyn for<'g> Fn(&Head<'_>, Terms<'g>) -> Terms<'g> + Send + Sync;
type Outcome<B> = Result<ServiceResponse<B>, Error>;
types!(Sent: HeaderName, HeaderValue);

impl<const GUARDS: bool> Middleware<GUARDS> {
    /// For a gate, shared or not yet.
    pub fn new(gate: impl Into<Arc<Gate>>) -> Self {
        let checkpoint = if GUARDS { Checkpoint::guard(gate) } else { Checkpoint::limits(gate) };
        Self { inner: (), checkpoint }
    }
}

impl Tollgate {
    /// Decides each request on the terms that this function says, as in the example of the [crate's docs](crate#terms).
    ///
    /// # Security
    /// Take what the router has matched and what authentication has found, and nothing that the client can make up.
    pub fn terms(
        self,
        terms: impl for<'g> Fn(&Head<'_>, Terms<'g>) -> Terms<'g> + Send + Sync + 'static,
    ) -> Self {
        Self { inner: (), checkpoint: self.checkpoint.on(Arc::new(terms)) }
    }
}

impl<S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>, B, const GUARDS: bool>
    Transform<S, ServiceRequest> for Middleware<GUARDS>
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Transform = Middleware<GUARDS, Rc<S>>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        ready(Ok(Middleware { inner: Rc::new(inner), checkpoint: self.checkpoint.clone() }))
    }
}

impl<S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>, B, const GUARDS: bool>
    Service<ServiceRequest> for Middleware<GUARDS, Rc<S>>
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Future = Responding<Rc<S>, ServiceRequest, S::Future, Outcome<EitherBody<B>>>;
    forward_ready!(inner);

    fn call(&self, mut request: ServiceRequest) -> Self::Future {
        let (inner, gate) = (&self.inner, self.checkpoint.gate());
        let head = Head::of(request.request());
        // Not of `ConnectionInfo`, which believes what the client writes.
        let peer = request.peer_addr().map(|peer| peer.ip());
        let entry = match self.checkpoint.go_straight(peer.as_ref(), &head) {
            Ok(permit) => {
                drop(head);
                prepare(gate, permit.decision().clone(), &mut request);
                return Responding::passed(inner.call(request), Some(permit), settle);
            }
            Err(aside) => aside.enter(|f, t| f(&head, t), peer, || head.extensions.get(), &head, ADVICE),
        };
        drop(head);
        let finish = |request: &ServiceRequest, heard: Heard| heard.finish(&Head::of(request.request()));
        Responding::onward(entry, gate, inner, request, finish, |to, mut request, gate, entry| match entry {
            Entry::Passes { decision, permit } => {
                decision.map(|decision| prepare(gate, decision, &mut request));
                Responding::passed(to.call(request), permit, settle)
            }
            Entry::Answered(reply) => {
                Responding::answered(Ok(request.into_response(to_response(reply).map_into_right_body())))
            }
        })
    }
}

/// What a gate answers as a response, with a refusal's decision for whoever is further outside.
pub(crate) fn to_response(reply: impl Into<Reply>) -> HttpResponse {
    let mut response = HttpResponse::new(StatusCode::OK);
    let Written { status, body, decision } =
        reply.into().write::<Sent>(|name, value| response.headers_mut().append(name, value));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    decision.map(|decision| response.extensions_mut().insert(decision));
    response.set_body(BoxBody::new(body))
}

/// Settles a request with its response, which is told what it comes to. An error's is made later, if at all.
fn settle<B>(permit: &mut Option<Permit>, mut polled: Poll<Outcome<B>>) -> Poll<Outcome<EitherBody<B>>> {
    match &mut polled {
        Poll::Pending => {}
        Poll::Ready(Ok(told)) => permit.iter_mut().for_each(|permit| tell(told.response_mut(), permit)),
        Poll::Ready(Err(error)) => permit.take().map(RefCell::new).into_iter().for_each(|permit| {
            error.add_response_mapper(move |mut response| {
                tell(&mut response, &mut permit.borrow_mut());
                response
            });
        }),
    }
    polled.map_ok(ServiceResponse::map_into_left_body)
}

fn tell<B>(to: &mut HttpResponse<B>, permit: &mut Permit) {
    let settled = permit.settle_with(to.status().as_u16(), to.extensions().get());
    let headers = to.headers_mut();
    let over = settled.write::<Sent>(|name, value, merge| match merge {
        Merge::Keep if headers.contains_key(&name) => {}
        Merge::Keep | Merge::Append => headers.append(name, value),
    });
    over.map(|over| to.extensions_mut().insert(over));
}

/// How the peer's address gets into a request.
const ADVICE: &str = "with actix-web, serve on a TCP address (`HttpServer::bind`) or count by something else than \
     addresses (`Terms::caller`); in tests give requests one with `TestRequest::peer_addr`.";
