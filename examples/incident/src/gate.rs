use std::sync::Arc;

use tollgate_axum::{Gate, GateError};

use crate::options::Options;
use crate::token::Token;

/// The limiter's settings, all of them. Without a token it knows addresses alone, as before the incident was
/// understood.
pub(crate) fn gate(options: &Options, token: Option<&Token>) -> Result<Arc<Gate>, GateError> {
    let mut gate = Gate::builder(options.quota()).capacity(options.capacity).overflow(options.overflow());
    if let Some(token) = token {
        gate = gate.service("internal", token.bytes());
    }
    gate.build().map(Arc::new)
}
