use std::sync::Arc;

use tollgate_http::Gate;
use tower_layer::Layer;

use crate::service::Tollgate;

/// Puts a [`Gate`] before a service; see the [crate's docs](crate) for the order in which a request is looked at.
///
/// Clones, and layers made from one gate, share its budgets.
#[derive(Clone, Debug)]
#[must_use = "a layer limits nobody until it is put on a service"]
pub struct TollgateLayer {
    gate: Arc<Gate>,
}

impl TollgateLayer {
    /// A layer for a gate, shared or not yet.
    pub fn new(gate: impl Into<Arc<Gate>>) -> Self {
        Self { gate: gate.into() }
    }
}

impl<S> Layer<S> for TollgateLayer {
    type Service = Tollgate<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Tollgate::new(inner, Arc::clone(&self.gate))
    }
}
