//! What a gate asks of a request.

use hyper::HeaderMap;
use hyper::header::{Entry, HeaderName, HeaderValue};
use hyper::http::Extensions;
use tollgate_http::RequestFields;

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

/// How the peer's address gets to a gate.
pub(crate) const ADVICE: &str = "with hyper, pass the address that `TcpListener::accept` returned with the connection: \
     `tollgate.wrap(service, Some(peer.ip()))`.";
