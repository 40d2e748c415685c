use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};

use crate::fields::Merge;
use crate::reply::{Reply, Written};
use crate::v1::headers::has;

/// What a gate answers as a response to a request of this method, with a refusal's decision for whoever is further outside.
pub(crate) fn to_response<R: From<Bytes>>(reply: impl Into<Reply>, method: &Method) -> Response<R> {
    let reply = reply.into();
    let mut headers = HeaderMap::with_capacity(reply.most_fields());
    let Written { status, mut body, decision } =
        reply.write::<Sent>(|name, value| add(&mut headers, name, value, Merge::Append));
    // Over HTTP/2, hyper would send a body with the response to HEAD, too.
    if method == Method::HEAD {
        headers.entry(CONTENT_LENGTH).or_insert_with(|| body.len().into());
        body = Bytes::new();
    }
    let mut response = Response::new(R::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = headers;
    if let Some(decision) = decision {
        response.extensions_mut().insert(decision);
    }
    response
}

/// Adds a field without overwriting any.
pub(crate) fn add(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue, merge: Merge) {
    if merge == Merge::Append || !has(headers, &name) {
        // A map that is full to its last place stays as it is.
        headers.try_append(name, value).ok();
    }
}

crate::types!(pub(crate) Sent: HeaderName, HeaderValue);
