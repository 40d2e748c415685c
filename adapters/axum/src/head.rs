use std::ops::Deref;

use axum::extract::MatchedPath;
use tollgate_http::v1;

/// What the terms of a request may depend on: its `method`, `uri`, `headers` and `extensions`, as [`v1::Head`] has them, and
/// the route.
#[derive(Clone, Copy, Debug)]
pub struct Head<'r>(v1::Head<'r>);

impl<'r> Head<'r> {
    pub(crate) fn new(head: &v1::Head<'r>) -> Self {
        Self(*head)
    }

    /// The route that axum has matched, such as `/users/{id}`: one for all spellings of a path. `None` where none is.
    pub fn matched_path(&self) -> Option<&'r str> {
        self.extensions.get().map(MatchedPath::as_str)
    }
}

impl<'r> Deref for Head<'r> {
    type Target = v1::Head<'r>;

    fn deref(&self) -> &v1::Head<'r> {
        &self.0
    }
}
