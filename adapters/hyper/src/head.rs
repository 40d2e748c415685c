use std::fmt;

use hyper::http::Extensions;
use hyper::{HeaderMap, Method, Request, Uri};

/// What the terms of a request may depend on: all of it but its body.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Head<'r> {
    /// The method.
    pub method: &'r Method,
    /// The target, as the client wrote it.
    pub uri: &'r Uri,
    /// The fields.
    pub headers: &'r HeaderMap,
    /// What services outside this one have left, authentication among them.
    pub extensions: &'r Extensions,
}

impl<'r> Head<'r> {
    pub(crate) fn of<B>(request: &'r Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }
}

/// Without the fields, among which are secrets.
impl fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head").field("method", self.method).field("uri", self.uri).finish_non_exhaustive()
    }
}
