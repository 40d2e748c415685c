use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::Error;
use actix_web::body::EitherBody;
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform};
use tollgate_http::{Gate, Terms};

use crate::head::{Head, TermsOf};
use crate::service::TollgateService;

/// Puts a [`Gate`] before an application, a scope or a resource; see the [crate's docs](crate) for the order in which a
/// request is looked at.
///
/// Clones, and those made from one gate, share its budgets. Build the gate outside of the closure that
/// `HttpServer::new` is given: the closure runs once for each worker, and a gate made in it would be the worker's own.
#[derive(Clone, Debug)]
#[must_use = "a middleware limits nobody until something is wrapped in it"]
pub struct Tollgate {
    gate: Arc<Gate>,
    terms: Option<TermsOf>,
}

impl Tollgate {
    /// A middleware for a gate, shared or not yet.
    pub fn new(gate: impl Into<Arc<Gate>>) -> Self {
        Self { gate: gate.into(), terms: None }
    }

    /// Decides each request on the terms that this function says: what it costs, whose budget it uses, whether it is
    /// counted at all.
    ///
    /// ```
    /// # use tollgate_actix_web::{Gate, Quota, Tollgate};
    /// struct User { id: String, pays: bool } // put into the extensions by authentication
    ///
    /// let gate = Gate::builder(Quota::per_minute(60)).class("paid", Quota::per_minute(1_000)).build()?;
    /// let tollgate = Tollgate::new(gate).terms(|head, terms| {
    ///     let terms = match head.extensions.get::<User>() {
    ///         Some(user) if user.pays => terms.caller(&user.id).class("paid"),
    ///         Some(user) => terms.caller(&user.id),
    ///         None => terms, // by address
    ///     };
    ///     match head.matched_path().as_deref() {
    ///         Some("/health") => terms.skip(),
    ///         Some(route @ "/export/{id}") => terms.scope(route).cost(10),
    ///         _ => terms,
    ///     }
    /// });
    /// # Ok::<(), tollgate_actix_web::GateError>(())
    /// ```
    ///
    /// Authentication belongs outside: of two `wrap`s the later one sees a request first.
    ///
    /// # Security
    /// The path and the fields are what the client wrote. A path has many spellings, and an unverified token can be made up
    /// afresh for each request: take what the router has matched and what authentication has found.
    pub fn terms(
        mut self,
        terms: impl for<'g> Fn(&Head<'_>, Terms<'g>) -> Terms<'g> + Send + Sync + 'static,
    ) -> Self {
        self.terms = Some(TermsOf::new(terms));
        self
    }
}

impl<S, B> Transform<S, ServiceRequest> for Tollgate
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Transform = TollgateService<S>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        ready(Ok(TollgateService::new(inner, Arc::clone(&self.gate), self.terms.clone())))
    }
}
