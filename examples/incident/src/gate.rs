use std::sync::Arc;

use tollgate_axum::{Addresses, Gate, GateBuilder, GateError};

use crate::options::{Options, Trust};
use crate::token::Token;

/// A limiter by itself.
pub(crate) fn gate(options: &Options, token: Option<&Token>) -> Result<Arc<Gate>, GateError> {
    builder(options, token).build().map(Arc::new)
}

/// The limiter's settings, all of them. Without a token it knows addresses alone, as before the incident was
/// understood.
pub(crate) fn builder(options: &Options, token: Option<&Token>) -> GateBuilder {
    let mut gate = Gate::builder(options.quota())
        .capacity(options.capacity)
        .overflow(options.overflow())
        .mode(options.mode())
        .legacy_fields(options.legacy_fields)
        // Nobody's but this program's, so they may be shown.
        .addresses(Addresses::Shown)
        .internal_route("/internal/")
        .metrics()
        .source(options.source.clone())
        .v4_prefix(options.v4_prefix)
        .v6_prefix(options.v6_prefix);
    for trust in &options.trust {
        gate = match trust {
            Trust::Network(network) => gate.trust_network(network),
            Trust::Hops(hops) => gate.trust_hops(*hops),
        };
    }
    if let Some(token) = token {
        gate = gate.service("internal", token.bytes());
    }
    gate
}
