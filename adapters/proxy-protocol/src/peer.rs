use std::net::SocketAddr;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};

use crate::listener::ProxyListener;

/// The address that a connection comes from, as a listener other than axum's own knows it: whoever serves with
/// [`ProxyListener`] calls `into_make_service_with_connect_info::<Peer>()`, and handlers ask for `ConnectInfo<Peer>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Peer(pub SocketAddr);

impl<L: Listener<Addr = SocketAddr>> Connected<IncomingStream<'_, ProxyListener<L>>> for Peer {
    fn connect_info(stream: IncomingStream<'_, ProxyListener<L>>) -> Self {
        Self(*stream.remote_addr())
    }
}
