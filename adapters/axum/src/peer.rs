use std::net::{IpAddr, SocketAddr};

use axum::extract::connect_info::{ConnectInfo, MockConnectInfo};
use http::Extensions;

/// The connection's peer. As for axum's own extractor, the real one goes before a test's.
pub(crate) fn peer(extensions: &Extensions) -> Option<IpAddr> {
    let real = || extensions.get().map(|&ConnectInfo::<SocketAddr>(peer)| peer);
    let mock = || extensions.get().map(|&MockConnectInfo::<SocketAddr>(peer)| peer);
    real().or_else(|| told(extensions)).or_else(mock).map(|peer| peer.ip())
}

/// The peer of a connection that `ProxyListener` has accepted.
#[cfg(feature = "proxy-protocol")]
fn told(extensions: &Extensions) -> Option<SocketAddr> {
    extensions.get().map(|&ConnectInfo(tollgate_proxy_protocol::Peer(peer))| peer)
}

/// There is no such listener.
#[cfg(not(feature = "proxy-protocol"))]
fn told(_: &Extensions) -> Option<SocketAddr> {
    None
}

/// How the peer's address gets into a request.
pub(crate) const ADVICE: &str = "with axum, serve `app.into_make_service_with_connect_info::<SocketAddr>()` instead of \
     `app` (`::<Peer>()` with `ProxyListener`), and elsewhere put `ConnectInfo<SocketAddr>` into the request's extensions.";
