use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use tollgate_http::{Gate, Terms};

use crate::head::Head;
use crate::service::TollgateService;

/// Puts a [`Gate`] before the service of each connection; see the [crate's docs](crate) for the order in which a request
/// is looked at.
///
/// Clones, and all that are made from one gate, share its budgets.
#[derive(Clone)]
#[must_use = "it limits nobody until it wraps a service"]
pub struct Tollgate {
    pub(crate) gate: Arc<Gate>,
    pub(crate) terms: Option<Arc<TermsOf>>,
}

/// Which terms a request is decided on.
pub(crate) type TermsOf = dyn for<'g> Fn(&Head<'_>, Terms<'g>) -> Terms<'g> + Send + Sync;

impl Tollgate {
    /// For a gate, shared or not yet.
    pub fn new(gate: impl Into<Arc<Gate>>) -> Self {
        Self { gate: gate.into(), terms: None }
    }

    /// Decides each request on the terms that this function says: what it costs, whose budget it uses, whether it is
    /// counted at all. `examples/terms.rs` has all of it.
    ///
    /// # Security
    /// The path and the fields are what the client wrote. A path has many spellings, and an unverified token can be made
    /// up afresh for each request: scope by the name of the route that your routing matches it to, and take callers from
    /// what authentication has found.
    pub fn terms(
        mut self,
        terms: impl for<'g> Fn(&Head<'_>, Terms<'g>) -> Terms<'g> + Send + Sync + 'static,
    ) -> Self {
        self.terms = Some(Arc::new(terms));
        self
    }

    /// The service of one connection, whose socket's peer is `peer`; `None` is for sockets without an address. It
    /// allocates nothing.
    ///
    /// # Security
    /// The peer is what callers are counted by: the address that the listener returned, or `ProxyProtocol::accept` of
    /// `tollgate-proxy-protocol`, and none that a request tells.
    pub fn wrap<S>(&self, inner: S, peer: Option<IpAddr>) -> TollgateService<S> {
        TollgateService { inner, tollgate: self.clone(), peer }
    }
}

impl fmt::Debug for Tollgate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tollgate").field("gate", &self.gate).finish_non_exhaustive()
    }
}
