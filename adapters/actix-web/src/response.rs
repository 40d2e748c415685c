use actix_web::HttpResponse;
use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use tollgate_http::{Answer, Field, Merge};

/// A gate's answer as a response.
pub(crate) fn to_response(answer: &Answer) -> HttpResponse {
    let status = StatusCode::from_u16(answer.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::with_body(status, BoxBody::new(answer.body().to_owned()));
    answer.fields().for_each(|field| add(response.headers_mut(), field));
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
