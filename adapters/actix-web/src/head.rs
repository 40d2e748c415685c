use std::fmt;
use std::sync::Arc;

use actix_web::dev::{Extensions, ServiceRequest};
use actix_web::http::header::HeaderMap;
use actix_web::http::{Method, Uri};
use tollgate_http::Terms;

/// What the terms of a request may depend on: all of it but its body.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Head<'r> {
    /// The method.
    pub method: &'r Method,
    /// The target, as the client wrote it or a middleware outside this one has rewritten it.
    pub uri: &'r Uri,
    /// The fields.
    pub headers: &'r HeaderMap,
    /// What middleware outside this one has left, authentication among it.
    pub extensions: &'r Extensions,
    request: &'r ServiceRequest,
}

impl<'r> Head<'r> {
    pub(crate) fn of(request: &'r ServiceRequest, extensions: &'r Extensions) -> Self {
        Self { method: request.method(), uri: request.uri(), headers: request.headers(), extensions, request }
    }

    /// The pattern of the resource that the request is for, such as `/users/{id}`: one name for however many spellings
    /// of a path. `None` where no resource matches.
    ///
    /// Around a resource it is the one that actix-web has matched. Around a scope or the whole application actix-web
    /// has not looked yet, so it is the first resource that the path fits; of several with one path and different
    /// guards that may be another than the one that answers.
    ///
    /// # Security
    /// Middleware that rewrites paths, such as `NormalizePath`, belongs outside of [`Tollgate`](crate::Tollgate) (it is
    /// wrapped after it), or the path that is looked at here is not the one that is routed.
    pub fn matched_path(&self) -> Option<String> {
        let path = self.request.match_info();
        // Around a resource the whole path is matched. Elsewhere actix-web would look the path up with its escapes, and
        // so miss a resource that its router, which resolves them, finds.
        let matched = if path.unprocessed().is_empty() { self.request.match_pattern() } else { None };
        matched.or_else(|| self.request.resource_map().match_pattern(path.as_str()))
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
