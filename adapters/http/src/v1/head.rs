use std::fmt;

use http::request::Parts;
use http::{Extensions, HeaderMap, Method, Request, Uri};

use crate::terms::Terms;

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
    /// What layers and services outside this one have left, authentication among them.
    pub extensions: &'r Extensions,
}

/// Says on which terms a request is decided.
pub type TermsOf = dyn for<'g> Fn(&Head<'_>, Terms<'g>) -> Terms<'g> + Send + Sync;

impl<'r, B> From<&'r Request<B>> for Head<'r> {
    fn from(request: &'r Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }
}

impl<'r> From<&'r Parts> for Head<'r> {
    fn from(parts: &'r Parts) -> Self {
        Self {
            method: &parts.method,
            uri: &parts.uri,
            headers: &parts.headers,
            extensions: &parts.extensions,
        }
    }
}

/// Without the fields, among which are secrets.
impl fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head").field("method", self.method).field("uri", self.uri).finish_non_exhaustive()
    }
}
