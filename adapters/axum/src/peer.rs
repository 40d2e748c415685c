//! What a gate asks of a request.

use std::net::{IpAddr, SocketAddr};

use axum::extract::connect_info::{ConnectInfo, MockConnectInfo};
use http::header::Entry;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use tollgate_http::RequestFields;

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

/// A request's header fields, with those that outer gates have taken from it.
pub(crate) struct Headers<'r> {
    headers: &'r HeaderMap,
    stripped: Option<&'r Stripped>,
}

/// Credentials that a gate has taken from a request, for the gates and guards further inside. No handler can name it.
#[derive(Clone, Default)]
pub(crate) struct Stripped(Vec<(HeaderName, HeaderValue)>);

impl<'r> Headers<'r> {
    pub(crate) fn of(headers: &'r HeaderMap, extensions: &'r Extensions) -> Self {
        Self { headers, stripped: extensions.get() }
    }
}

impl RequestFields for Headers<'_> {
    fn lines<'r>(&'r self, name: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        let stripped = self.stripped.into_iter().flat_map(|stripped| &stripped.0);
        let stripped = stripped.filter(move |(taken, _)| taken == name).map(|(_, value)| value);
        self.headers.get_all(name).into_iter().chain(stripped).map(HeaderValue::as_bytes)
    }
}

impl Stripped {
    /// Takes a field from a request.
    pub(crate) fn take(name: &str, headers: &mut HeaderMap, extensions: &mut Extensions) {
        let Ok(Entry::Occupied(entry)) = headers.try_entry(name) else { return };
        let name = entry.key().clone();
        let taken = entry.remove_entry_mult().1.map(|value| (name.clone(), value));
        extensions.get_or_insert_default::<Self>().0.extend(taken);
    }
}

/// How the peer's address gets into a request.
pub(crate) const ADVICE: &str = "with axum, serve `app.into_make_service_with_connect_info::<SocketAddr>()` instead of \
     `app` (`::<Peer>()` with `ProxyListener`), and elsewhere put `ConnectInfo<SocketAddr>` into the request's extensions.";
