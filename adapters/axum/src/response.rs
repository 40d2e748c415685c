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
    let name = HeaderName::from_static(field.name);
    if field.merge == Merge::Keep && headers.contains_key(&name) {
        return;
    }
    // A gate's values are printable ASCII, so none is left out.
    if let Ok(value) = HeaderValue::from_str(field.value) {
        headers.append(name, value);
    }
}
