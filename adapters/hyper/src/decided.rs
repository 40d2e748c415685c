use hyper::Request;
use tollgate_http::Decision;

/// What the gate decided about this request, for handlers.
///
/// It is `None` where no [`Tollgate`](crate::Tollgate) is around the handler. With several, it is the innermost's
/// decision.
pub fn decided<B>(request: &Request<B>) -> Option<&Decision> {
    request.extensions().get()
}
