use bytes::Bytes;
use http::Response;

use crate::gate::Gate;
use crate::v1::head::Head;
use crate::v1::headers::Headers;
use crate::v1::response::to_response;

/// The response to a request for the report of throttled callers; see [`Gate::report_answer`]. With the feature `report`.
pub fn throttled<R: From<Bytes>>(gate: &Gate, head: &Head<'_>) -> Response<R> {
    let answer = gate.report_answer(head.method.as_str(), head.uri.query(), &Headers::of(head));
    to_response(answer, head.method)
}
