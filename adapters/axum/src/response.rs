use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use tollgate_http::{Answer, Field, Merge};

/// A gate's answer as a response.
pub(crate) fn to_response<R: From<Bytes>>(answer: &Answer) -> Response<R> {
    let mut response = Response::new(R::from(Bytes::copy_from_slice(answer.body().as_bytes())));
    *response.status_mut() =
        StatusCode::from_u16(answer.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.fields().for_each(|field| add(response.headers_mut(), field));
    response
}

/// Adds a field without overwriting any.
pub(crate) fn add(headers: &mut HeaderMap, field: Field<'_>) {
    // A gate's names and values can be sent; a responder's may not.
    let (Ok(name), Ok(value)) =
        (HeaderName::from_bytes(field.name.as_bytes()), HeaderValue::from_str(field.value))
    else {
        return;
    };
    if field.merge == Merge::Keep && headers.contains_key(&name) {
        return;
    }
    headers.append(name, value);
}
