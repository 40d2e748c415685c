use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use tollgate_http::{Answer, Field, Merge};

/// A gate's answer as a response to a request of this method.
pub(crate) fn to_response<R: From<Bytes>>(answer: &Answer, method: &Method) -> Response<R> {
    let body = answer.body().as_bytes();
    // Over HTTP/2, hyper would send a body with the response to HEAD, too.
    let is_withheld = method == Method::HEAD;
    let mut response =
        Response::new(R::from(if is_withheld { Bytes::new() } else { Bytes::copy_from_slice(body) }));
    *response.status_mut() =
        StatusCode::from_u16(answer.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.fields().for_each(|field| add(response.headers_mut(), field));
    if is_withheld {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert_with(|| body.len().into());
    }
    response
}

/// Adds a field without overwriting any.
pub(crate) fn add(headers: &mut HeaderMap, field: Field<'_>) {
    // A gate's names and values can be sent; a responder's may not.
    let (Some(name), Ok(value)) = (name(field.name), HeaderValue::from_str(field.value)) else { return };
    if field.merge == Merge::Append || !headers.contains_key(&name) {
        headers.append(name, value);
    }
}

/// Names that a gate writes and `http` does not know are made without allocation.
fn name(name: &str) -> Option<HeaderName> {
    Some(match name {
        "ratelimit" => const { HeaderName::from_static("ratelimit") },
        "ratelimit-policy" => const { HeaderName::from_static("ratelimit-policy") },
        _ => HeaderName::from_bytes(name.as_bytes()).ok()?,
    })
}
