use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use tollgate_http::{Gate, v1};

/// Shows who is being throttled, as JSON or as a page, to whoever presents a secret. With the feature `report`; see
/// [`Gate::report_answer`].
///
/// Route to it outside of [`Tollgate`](crate::Tollgate), or whoever is throttled can't look.
pub fn throttled<B>(gate: &Gate, request: &Request<B>) -> Response<Full<Bytes>> {
    v1::throttled(gate, &request.into())
}
