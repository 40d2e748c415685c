//! What adapters for frameworks of version 1 of the crate `http` share: requests as a gate reads them, and its answers
//! as responses. With the feature `http-1`.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, Entry, HeaderName, HeaderValue};
use http::{Extensions, HeaderMap, Method, Request, Response, StatusCode};

use crate::answer::Answer;
use crate::decision::{Decision, ServiceName};
use crate::fields::{Field, Merge};
use crate::gate::Gate;
use crate::permit::Permit;
use crate::request::RequestFields;

/// A request's header fields, with those that outer gates have taken from it by [`strip`].
#[derive(Clone, Copy)]
pub struct Headers<'r> {
    headers: &'r HeaderMap,
    stripped: Option<&'r Stripped>,
}

/// Credentials that a gate has taken from a request, for the gates and guards further inside. No handler can name it.
#[derive(Clone, Default)]
struct Stripped(Vec<(HeaderName, HeaderValue)>);

impl<'r> Headers<'r> {
    /// Those of a request.
    pub fn of(headers: &'r HeaderMap, extensions: &'r Extensions) -> Self {
        Self { headers, stripped: extensions.get() }
    }
}

impl RequestFields for Headers<'_> {
    fn lines<'r>(&'r self, name: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        let stripped = self.stripped.into_iter().flat_map(|stripped| &stripped.0);
        let stripped = stripped.filter(move |(taken, _)| taken == name).map(|(_, value)| value);
        self.headers.get_all(name).into_iter().chain(stripped).map(HeaderValue::as_bytes)
    }
}

/// Takes the credential's field from a request before the application sees it, if the gate is built so.
pub fn strip<B>(gate: &Gate, decision: &Decision, request: &mut Request<B>) {
    if !gate.strips_credential(decision) {
        return;
    }
    let Ok(Entry::Occupied(entry)) = request.headers_mut().try_entry(gate.credential_header()) else {
        return;
    };
    let name = entry.key().clone();
    let taken: Vec<_> = entry.remove_entry_mult().1.map(|value| (name.clone(), value)).collect();
    request.extensions_mut().get_or_insert_default::<Stripped>().0.extend(taken);
}

/// The service that may pass to an internal route; see [`Gate::internal`].
pub fn internal(gate: &Gate, headers: &HeaderMap, extensions: &Extensions) -> Option<ServiceName> {
    gate.internal(extensions.get(), &Headers::of(headers, extensions))
}

/// A gate's answer as a response to a request of this method.
pub fn to_response<R: From<Bytes>>(answer: &Answer, method: &Method) -> Response<R> {
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

/// A refusal as a response, with the decision in its extensions for outer layers: who was refused, and why.
pub fn refused<R: From<Bytes>>(answer: &Answer, method: &Method, decision: Decision) -> Response<R> {
    let mut response = to_response(answer, method);
    response.extensions_mut().insert(decision);
    response
}

/// Settles a request with its response, and writes its fields there; an error is our own failure, whatever becomes of it
/// further outside.
///
/// In shadow mode the decision about a request that would be refused is left in the response's extensions for outer
/// layers, unless a refusal further inside says more.
pub fn settle<R, E>(permit: Permit, result: &mut Result<Response<R>, E>) {
    let Ok(response) = result else {
        permit.settle(StatusCode::INTERNAL_SERVER_ERROR.as_u16(), None);
        return;
    };
    let inner = response.extensions().get();
    let over = (permit.decision().is_over_limit() && inner.is_none()).then(|| permit.decision().clone());
    if let Some(fields) = permit.settle(response.status().as_u16(), inner) {
        fields.iter().for_each(|field| add(response.headers_mut(), field));
    }
    if let Some(over) = over {
        response.extensions_mut().insert(over);
    }
}

/// Adds a field without overwriting any.
fn add(headers: &mut HeaderMap, field: Field<'_>) {
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
