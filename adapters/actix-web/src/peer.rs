//! What a gate asks of a request.

use actix_web::HttpMessage;
use actix_web::dev::{Extensions, ServiceRequest};
use actix_web::http::header::{HeaderMap, HeaderValue};
use tollgate_http::RequestFields;

/// A request's header fields, with those that outer gates have taken from it.
pub(crate) struct Headers<'r> {
    headers: &'r HeaderMap,
    stripped: Option<&'r Stripped>,
}

/// Credentials that a gate has taken from a request, for the gates and guards further inside. No handler can name it.
#[derive(Default)]
pub(crate) struct Stripped(Vec<(String, HeaderValue)>);

impl<'r> Headers<'r> {
    pub(crate) fn of(headers: &'r HeaderMap, extensions: &'r Extensions) -> Self {
        Self { headers, stripped: extensions.get() }
    }
}

impl RequestFields for Headers<'_> {
    fn lines<'r>(&'r self, name: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        let stripped = self.stripped.into_iter().flat_map(|stripped| &stripped.0);
        let stripped = stripped.filter(move |(taken, _)| taken == name).map(|(_, value)| value);
        // The map's own names are looked through, since it would make a copy of one that is given as text.
        let name = self.headers.keys().find(|given| given.as_str() == name);
        let lines = name.into_iter().flat_map(|name| self.headers.get_all(name));
        lines.chain(stripped).map(HeaderValue::as_bytes)
    }
}

impl Stripped {
    /// Takes a field from a request.
    pub(crate) fn take(name: &str, request: &mut ServiceRequest) {
        let taken = request.headers_mut().remove(name).map(|value| (name.to_owned(), value));
        if taken.len() > 0 {
            request.extensions_mut().get_or_insert_with(Self::default).0.extend(taken);
        }
    }
}

/// How the peer's address gets into a request.
pub(crate) const ADVICE: &str = "with actix-web, serve on a TCP address (`HttpServer::bind`), or count by something else \
     than the address (`Tollgate::terms` and `Terms::caller`), and in tests give the request one with \
     `TestRequest::peer_addr`.";
