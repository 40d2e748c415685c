use std::fmt;
use std::sync::Arc;

use axum::extract::MatchedPath;
use http::{Extensions, HeaderMap, Method, Request, Uri};
use tollgate_http::Terms;

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
    /// What layers outside this one have left, authentication among them.
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

    /// The route that axum has matched, such as `/users/{id}`: one name for however many spellings of a path. `None`
    /// outside of a router, and where no route matches.
    pub fn matched_path(&self) -> Option<&'r str> {
        self.extensions.get().map(MatchedPath::as_str)
    }
}

/// Without the fields, among which are secrets.
impl fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head").field("method", self.method).field("uri", self.uri).finish_non_exhaustive()
    }
}

/// Which terms a request is decided on.
#[derive(Clone)]
pub(crate) struct TermsOf(Arc<Function>);

type Function = dyn for<'g> Fn(&Head<'_>, Terms<'g>) -> Terms<'g> + Send + Sync;

impl TermsOf {
    pub(crate) fn new(
        terms: impl for<'g> Fn(&Head<'_>, Terms<'g>) -> Terms<'g> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(terms))
    }

    pub(crate) fn call<'g>(&self, head: &Head<'_>, terms: Terms<'g>) -> Terms<'g> {
        (self.0)(head, terms)
    }
}

impl fmt::Debug for TermsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TermsOf(..)")
    }
}
