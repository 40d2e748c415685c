use std::{cell::Ref, fmt, future::Ready, future::ready};

use actix_web::dev::{Extensions, Payload, RequestHead, ServiceRequest};
use actix_web::http::{Method, StatusCode, Uri, header::HeaderMap, header::HeaderValue};
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest, HttpResponse, ResponseError, web};
use tollgate_http::{Answer, Decision, FieldName, Gate, RequestFields, ServiceName};

use crate::middleware::to_response;

/// What the terms of a request may depend on: all of it but its body.
pub struct Head<'r> {
    /// The method.
    pub method: &'r Method,
    /// The target, as the client wrote it or a middleware outside this one has rewritten it.
    pub uri: &'r Uri,
    /// The fields.
    pub headers: &'r HeaderMap,
    /// What middleware outside this one has left, authentication among it.
    pub extensions: Ref<'r, Extensions>,
    request: &'r HttpRequest,
}

impl<'r> Head<'r> {
    #[inline]
    pub(crate) fn of(request: &'r HttpRequest) -> Self {
        let RequestHead { method, uri, headers, .. } = request.head();
        Self { method, uri, headers, extensions: request.extensions(), request }
    }

    /// The pattern of the resource, `/users/{id}`, for all spellings of a path; of several that differ in guards, any one's.
    ///
    /// # Security
    /// Wrap middleware that rewrites paths, such as `NormalizePath`, after `Tollgate`, or another path is looked at than routed.
    pub fn matched_path(&self) -> Option<String> {
        let path = self.request.match_info();
        // Unless the whole path is matched already, actix-web would look it up with its escapes, which its router resolves.
        let matched = if path.unprocessed().is_empty() { self.request.match_pattern() } else { None };
        matched.or_else(|| self.request.resource_map().match_pattern(path.as_str()))
    }
}

/// Without the fields, among which are secrets.
impl fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head").field("method", self.method).field("uri", self.uri).finish_non_exhaustive()
    }
}

impl RequestFields for Head<'_> {
    fn lines<'r>(&'r self, name: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        let stripped = self.extensions.get().into_iter().flat_map(|Stripped(taken)| taken[..].lines(name));
        // The map's own names are looked through, since it would make a copy of one that is given as text.
        let name = self.headers.keys().find(|given| given.as_str() == name);
        let lines = name.into_iter().flat_map(|name| self.headers.get_all(name));
        lines.map(HeaderValue::as_bytes).chain(stripped)
    }

    fn may_have(&self, name: &FieldName) -> bool {
        let is_taken = || Gate::any_strips() && self.extensions.contains::<Stripped>();
        self.headers.keys().any(|it| it.as_str() == name.as_str()) || is_taken()
    }

    fn path(&self) -> Option<&str> {
        Some(self.uri.path())
    }
}

/// Credentials that outer gates have taken from a request, for those further inside. No handler can name it.
#[derive(Default)]
struct Stripped(Vec<(String, HeaderValue)>);

/// Puts the decision into a request, in place of an outer gate's, and takes the credential if the gate is built so.
pub(crate) fn prepare(gate: &Gate, decision: Decision, request: &mut ServiceRequest) -> Option<Decision> {
    let name = gate.credential_header();
    if gate.strips_credential(&decision) && request.headers().contains_key(name) {
        let taken = request.headers_mut().remove(name).map(|value| (name.to_owned(), value));
        request.extensions_mut().get_or_insert_with(Stripped::default).0.extend(taken);
    }
    request.extensions_mut().insert(decision)
}

/// What the gate decided about this request: an extractor for handlers inside of [`Tollgate`](crate::Tollgate).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decided(pub Decision);

impl FromRequest for Decided {
    type Error = Undecided;
    type Future = Ready<Result<Self, Undecided>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(request.extensions().get().cloned().map(Self).ok_or(Undecided::NotAsked))
    }
}

/// Shows who is being throttled, to whoever presents a secret. With the feature `report`; see [`Gate::report_answer`].
#[cfg(feature = "report")]
pub fn throttled(gate: impl Into<std::sync::Arc<Gate>>) -> actix_web::Route {
    let gate = gate.into();
    web::to(move |request: HttpRequest| {
        let head = Head::of(&request);
        ready(to_response(gate.report_answer(head.method.as_str(), head.uri.query(), &head)))
    })
}

/// The service that calls: an extractor that answers anybody else with [`NotInternal`]. The gate comes from the application's
/// data (`web::Data<Gate>`, which `web::Data::from` makes of an `Arc<Gate>`); around it, [`Tollgate`](crate::Tollgate) is heeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequireInternal(pub ServiceName);

impl FromRequest for RequireInternal {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let (head, gate) = (Head::of(request), request.app_data::<web::Data<Gate>>());
        let Some(gate) = gate else { return ready(Err(Undecided::NoGate.into())) };
        let service = gate.internal(head.extensions.get(), &head);
        ready(service.map(Self).ok_or_else(|| NotInternal(gate.unauthorized()).into()))
    }
}

/// An extractor has no gate to ask. Answered with 500, and the log says what is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Undecided {
    /// No gate has decided the request, for [`Decided`].
    #[error("a handler asks what the gate decided, but no gate was asked: put `Tollgate` around its route")]
    NotAsked,
    /// There is none in the application's data, for [`RequireInternal`].
    #[error("no gate knows who calls: add `.app_data(web::Data::from(gate))`, where gate is an `Arc<Gate>`")]
    NoGate,
}

impl ResponseError for Undecided {
    fn error_response(&self) -> HttpResponse {
        tracing::error!("{self}. Answered with 500.");
        HttpResponse::new(self.status_code())
    }
}

/// The request carries no valid credential. Answered with `401 Unauthorized` and `WWW-Authenticate`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the request carries no valid credential of one of our own services")]
pub struct NotInternal(Answer);

impl ResponseError for NotInternal {
    fn status_code(&self) -> StatusCode {
        StatusCode::UNAUTHORIZED
    }

    fn error_response(&self) -> HttpResponse {
        to_response(self.0.clone())
    }
}
