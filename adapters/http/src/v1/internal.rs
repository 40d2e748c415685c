use bytes::Bytes;
use http::{Method, Response};

use crate::answer::Answer;
use crate::decision::ServiceName;
use crate::gate::Gate;
use crate::v1::head::Head;
use crate::v1::headers::Headers;
use crate::v1::response::to_response;

/// The service that may pass to an internal route; see [`Gate::internal`].
///
/// # Errors
/// If the request carries no valid credential.
pub fn require_internal(gate: &Gate, head: &Head<'_>) -> Result<ServiceName, NotInternal> {
    gate.internal(head.extensions.get(), &Headers::of(head))
        .ok_or_else(|| NotInternal { answer: gate.unauthorized(), method: head.method.clone() })
}

/// The request carries no valid credential. Answered with `401 Unauthorized` and `WWW-Authenticate`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotInternal {
    answer: Answer,
    method: Method,
}

impl NotInternal {
    /// The response, with a body such as `Full<Bytes>`.
    pub fn into_response<R: From<Bytes>>(self) -> Response<R> {
        to_response(self.answer, &self.method)
    }
}
