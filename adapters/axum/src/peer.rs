//! What a gate asks of a request.

use std::net::{IpAddr, SocketAddr};

use axum::extract::connect_info::{ConnectInfo, MockConnectInfo};
use http::{Extensions, HeaderMap, HeaderValue};
use tollgate_http::{Gate, NoPeer};

/// The socket's peer. As for axum's own extractor, the real one goes before a test's.
pub(crate) fn peer(extensions: &Extensions) -> Option<IpAddr> {
    let real = extensions.get().map(|&ConnectInfo::<SocketAddr>(peer)| peer);
    let mock = || extensions.get().map(|&MockConnectInfo::<SocketAddr>(peer)| peer);
    real.or_else(mock).map(|peer| peer.ip())
}

/// Every line of the field that carries credentials.
pub(crate) fn credential<'r>(gate: &Gate, headers: &'r HeaderMap) -> impl Iterator<Item = &'r [u8]> {
    headers.get_all(gate.credential_header()).into_iter().map(HeaderValue::as_bytes)
}

/// Tells the operator what to change.
#[cold]
pub(crate) fn no_peer(outcome: &str) {
    tracing::error!(
        "{NoPeer}; with axum, serve `app.into_make_service_with_connect_info::<SocketAddr>()` instead of `app`, and \
         elsewhere put `ConnectInfo<SocketAddr>` into the request's extensions. (A Unix socket has no address to limit by.) \
         {outcome}"
    );
}
