use std::sync::Arc;

use tollgate_http::v1::TermsOf;
use tollgate_http::{Checkpoint, Gate, Terms};
use tower_layer::Layer;

use crate::head::Head;
use crate::service::Tollgate;

/// Puts a [`Gate`] before a service, in [this order](https://docs.rs/tollgate-http/latest/tollgate_http/#order).
///
/// Clones, and layers made from one gate, share its budgets.
#[derive(Clone, Debug)]
#[must_use = "a layer limits nobody until it is put on a service"]
pub struct TollgateLayer(Checkpoint<TermsOf>);

impl TollgateLayer {
    /// A layer for a gate, shared or not yet.
    pub fn new(gate: impl Into<Arc<Gate>>) -> Self {
        Self(Checkpoint::limits(gate))
    }

    /// Decides each request on the terms that this function says: what it costs, whose budget it uses, whether it is
    /// counted at all. The [crate's docs](crate#terms) have an example.
    ///
    /// # Security
    /// Take what the router has matched and what authentication has found, and nothing that the client can make up.
    pub fn terms(
        self,
        terms: impl for<'g> Fn(&Head<'_>, Terms<'g>) -> Terms<'g> + Send + Sync + 'static,
    ) -> Self {
        Self(self.0.on(Arc::new(move |head, ordinary| terms(&Head::new(head), ordinary))))
    }
}

impl<S> Layer<S> for TollgateLayer {
    type Service = Tollgate<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Tollgate { inner, checkpoint: self.0.clone() }
    }
}
