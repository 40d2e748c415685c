use std::sync::Arc;

use tollgate_http::{Gate, Terms};
use tower_layer::Layer;

use crate::head::{Head, TermsOf};
use crate::service::Tollgate;

/// Puts a [`Gate`] before a service; see the [crate's docs](crate) for the order in which a request is looked at.
///
/// Clones, and layers made from one gate, share its budgets.
#[derive(Clone, Debug)]
#[must_use = "a layer limits nobody until it is put on a service"]
pub struct TollgateLayer {
    gate: Arc<Gate>,
    terms: Option<TermsOf>,
}

impl TollgateLayer {
    /// A layer for a gate, shared or not yet.
    pub fn new(gate: impl Into<Arc<Gate>>) -> Self {
        Self { gate: gate.into(), terms: None }
    }

    /// Decides each request on the terms that this function says: what it costs, whose budget it uses, whether it is
    /// counted at all.
    ///
    /// ```
    /// # use tollgate_axum::{Gate, Quota, TollgateLayer};
    /// #[derive(Clone)]
    /// struct User { id: String, pays: bool } // put into the extensions by authentication
    ///
    /// let gate = Gate::builder(Quota::per_minute(60)).class("paid", Quota::per_minute(1_000)).build()?;
    /// let layer = TollgateLayer::new(gate).terms(|head, terms| {
    ///     let terms = match head.extensions.get::<User>() {
    ///         Some(user) if user.pays => terms.caller(&user.id).class("paid"),
    ///         Some(user) => terms.caller(&user.id),
    ///         None => terms, // by address
    ///     };
    ///     match head.matched_path() {
    ///         Some("/health") => terms.skip(),
    ///         Some(route @ "/export/{id}") => terms.scope(route).cost(10),
    ///         _ => terms,
    ///     }
    /// });
    /// # Ok::<(), tollgate_axum::GateError>(())
    /// ```
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

impl<S> Layer<S> for TollgateLayer {
    type Service = Tollgate<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Tollgate::new(inner, Arc::clone(&self.gate), self.terms.clone())
    }
}
