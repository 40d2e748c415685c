use std::net::IpAddr;
use std::sync::Arc;

use tollgate_http::v1::{Head, TermsOf};
use tollgate_http::{Checkpoint, Gate, Terms};

use crate::service::TollgateService;

/// Puts a [`Gate`] before the service of each connection; `tollgate-http` has the [order] in which a request is looked at.
///
/// [order]: https://docs.rs/tollgate-http/latest/tollgate_http/#order
///
/// Clones, and all that are made from one gate, share its budgets.
#[derive(Clone, Debug)]
#[must_use = "it limits nobody until it wraps a service"]
pub struct Tollgate(Checkpoint<TermsOf>);

impl Tollgate {
    /// For a gate, shared or not yet.
    pub fn new(gate: impl Into<Arc<Gate>>) -> Self {
        Self(Checkpoint::limits(gate))
    }

    /// Decides each request on the terms that this function says: what it costs, whose budget it uses, whether it is
    /// counted at all. `examples/terms.rs` has all of it.
    ///
    /// # Security
    /// The path and the fields are what the client wrote. A path has many spellings, and an unverified token can be made
    /// up afresh for each request: scope by the name of the route that your routing matches it to, and take callers from
    /// what authentication has found.
    pub fn terms(
        self,
        terms: impl for<'g> Fn(&Head<'_>, Terms<'g>) -> Terms<'g> + Send + Sync + 'static,
    ) -> Self {
        Self(self.0.on(Arc::new(terms)))
    }

    /// The service of one connection, whose socket's peer is `peer`; `None` is for sockets without an address. It
    /// allocates nothing.
    ///
    /// # Security
    /// The peer is what callers are counted by: the address that the listener returned, or `ProxyProtocol::accept` of
    /// `tollgate-proxy-protocol`, and none that a request tells.
    pub fn wrap<S>(&self, inner: S, peer: Option<IpAddr>) -> TollgateService<S> {
        TollgateService { inner, checkpoint: self.0.clone(), peer }
    }
}
