//! What a gate asks of a request.

use std::net::{IpAddr, SocketAddr};

use axum::extract::connect_info::{ConnectInfo, MockConnectInfo};
use http::Extensions;

/// The address that a connection comes from, as a listener other than axum's own knows it: whoever serves with
/// `ProxyListener` calls `into_make_service_with_connect_info::<Peer>()`, and handlers ask for `ConnectInfo<Peer>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Peer(pub SocketAddr);

/// The connection's peer. As for axum's own extractor, the real one goes before a test's.
pub(crate) fn peer(extensions: &Extensions) -> Option<IpAddr> {
    let real = || extensions.get().map(|&ConnectInfo::<SocketAddr>(peer)| peer);
    let told = || extensions.get().map(|&ConnectInfo(Peer(peer))| peer);
    let mock = || extensions.get().map(|&MockConnectInfo::<SocketAddr>(peer)| peer);
    real().or_else(told).or_else(mock).map(|peer| peer.ip())
}

/// How the peer's address gets into a request.
pub(crate) const ADVICE: &str = "with axum, serve `app.into_make_service_with_connect_info::<SocketAddr>()` instead of \
     `app` (`::<Peer>()` with `ProxyListener`), and elsewhere put `ConnectInfo<SocketAddr>` into the request's extensions.";
