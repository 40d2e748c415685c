//! The responses that a gate gives in place of the application's.

use std::borrow::Cow;
use std::mem;

use bytes::Bytes;
use tollgate::{Nanos, Reason, Refusal};

use crate::decision::Decision;
use crate::fields::{Field, Fields, Merge, retry_after, text};
use crate::gate::Gate;
use crate::name::{Fixed, Listed, Name, Types, give, other};
use crate::reply::Written;
use crate::text::numeral;

/// A response of the gate's own. An adapter turns it into its framework's type.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "an answer that is not sent leaves the request to the application"]
pub struct Answer(Box<Content>);

/// It is large, and is moved from hand to hand.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Content {
    status: u16,
    fields: Option<Fields>,
    own: heapless::Vec<(Name, Bytes), 5>,
    /// What a responder adds.
    further: Vec<(String, String, Merge)>,
    body: Cow<'static, str>,
    /// Whether the body is the gate's, and not a responder's.
    has_own_body: bool,
}

/// How the body of a refusal is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum RefusalBody {
    /// `application/problem+json` (RFC 9457) of the type
    /// `https://iana.org/assignments/http-problem-types#quota-exceeded`, which programs can read. The default.
    #[default]
    ProblemJson,
    /// One sentence as `text/plain`.
    PlainText,
}

impl Answer {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// The fields, that of the content type included.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let keep = |(name, value)| Field { name, value, merge: Merge::Keep };
        let own = self.0.own.iter().map(move |(name, value)| keep((name.as_str(), text(value))));
        let further = self.0.further.iter().map(|(name, value, merge)| Field { name, value, merge: *merge });
        self.0.fields.iter().flat_map(Fields::iter).chain(own).chain(further)
    }

    /// The body, to be sent with any method but HEAD.
    pub fn body(&self) -> &str {
        &self.0.body
    }

    /// So many fields and the body's length fit where there is room for so many.
    #[cfg(feature = "http-1")]
    pub(crate) fn most_fields(&self) -> usize {
        let told = self.0.fields.as_ref().map_or(0, Fields::most);
        1 + told + self.0.own.len() + self.0.further.len()
    }

    /// See [`Reply::write`](crate::Reply::write).
    pub(crate) fn write<T>(self, mut add: impl FnMut(T::Name, T::Value)) -> Written
    where
        T: Types<Name: for<'a> TryFrom<&'a [u8]>>,
    {
        let mut content = self.0;
        if let Some(fields) = &mut content.fields {
            fields.write::<T>(&mut add);
        }
        for (name, value) in &mut content.own {
            give::<T>(*name, T::value(mem::take(value)), &mut add);
        }
        for (name, value, _) in content.further {
            other::<T>(&name, value, &mut add);
        }
        Written { status: content.status, body: bytes(content.body), decision: None }
    }

    /// The same with another status code, such as 503; a body of the gate's own says it too.
    pub fn with_status(mut self, status: u16) -> Self {
        let member = |status: u16| format!("\"status\":{status}");
        if self.0.has_own_body
            && let Some((before, after)) = self.0.body.split_once(&member(self.0.status))
        {
            self.0.body = format!("{before}{}{after}", member(status)).into();
        }
        self.0.status = status;
        self
    }

    /// The same with another body.
    pub fn with_body(self, content_type: impl Into<String>, body: impl Into<Cow<'static, str>>) -> Self {
        let mut answer = self.with_field("content-type", content_type);
        (answer.0.body, answer.0.has_own_body) = (body.into(), false);
        answer
    }

    /// The same with this field in place of any of its name, the rate limit's included. A name or value that can't be
    /// sent is left out by the adapter.
    pub fn with_field(mut self, name: impl AsRef<str>, value: impl Into<String>) -> Self {
        let name = name.as_ref().to_ascii_lowercase();
        if let Some(fields) = self.0.fields.take() {
            let told =
                fields.iter().map(|field| (field.name.to_owned(), field.value.to_owned(), field.merge));
            self.0.further.splice(0..0, told);
        }
        self.0.own.retain(|(own, _)| own.as_str() != name);
        self.0.further.retain(|(further, ..)| *further != name);
        self.0.further.push((name, value.into(), Merge::Keep));
        self
    }

    /// The refusal that a decision is answered with.
    pub(crate) fn refused(gate: &Gate, decision: &Decision, is_grpc: bool) -> Option<Self> {
        let mut answer = Self::new(0, [], "");
        let content = &mut *answer.0;
        (content.status, content.body) = gate.tell_refusal::<Listed>(decision, is_grpc, |name, value| {
            if name.is_of_fields() {
                content.fields.get_or_insert_default().set(name, value);
            } else {
                let pushed = content.own.push((name, value));
                debug_assert!(pushed.is_ok(), "{name:?} does not fit");
            }
        })?;
        Some(answer)
    }

    /// `401 Unauthorized` (RFC 9110 §15.5.2).
    pub(crate) fn unauthorized(challenge: &str) -> Self {
        let challenge = Bytes::copy_from_slice(challenge.as_bytes());
        let own = [(Name::ContentType, Fixed::Plain.bytes()), (Name::WwwAuthenticate, challenge)];
        Self::new(401, own, "This route is for our own services: present the secret of one.\n")
    }

    /// `500 Internal Server Error`, for a request that must be counted and whose peer is not known. It tells the
    /// caller nothing; the log tells the operator.
    pub(crate) fn no_peer() -> Self {
        let own = [(Name::ContentType, Fixed::Plain.bytes())];
        Self::new(500, own, "The server is not set up to take this request; its log says why.\n")
    }

    /// An answer of the report's.
    #[cfg(feature = "report")]
    pub(crate) fn own(status: u16, content_type: &'static str, body: impl Into<Cow<'static, str>>) -> Self {
        let own = [(Name::ContentType, Bytes::from_static(content_type.as_bytes()))];
        let mut answer = Self::new(status, own, body);
        answer.0.has_own_body = false;
        answer
    }

    /// The same with one more line, whose name is there only if lines of it may be several.
    #[cfg(feature = "report")]
    pub(crate) fn and_field(mut self, name: &str, value: impl Into<String>, merge: Merge) -> Self {
        debug_assert!(
            merge == Merge::Append || self.fields().all(|field| field.name != name),
            "{name} comes twice"
        );
        self.0.further.push((name.into(), value.into(), merge));
        self
    }

    /// Of at most five fields.
    fn new<const N: usize>(status: u16, own: [(Name, Bytes); N], body: impl Into<Cow<'static, str>>) -> Self {
        const { assert!(N <= 5, "there is room for five") }
        let (own, body) = (own.into_iter().collect(), body.into());
        Self(Box::new(Content { status, fields: None, own, further: Vec::new(), body, has_own_body: true }))
    }
}

/// Tells what a refusal has beside the fields of whoever is counted: its own fields to `add`; its status and its body.
///
/// `429 Too Many Requests` (RFC 6585 §4), or `503 Service Unavailable` (RFC 9110 §15.6.4) where nothing may pass since a shared
/// count can't be reached, through no fault of the caller's; or what clients of gRPC take for them.
pub(crate) fn tell_refused<T: Types>(
    policy: &str,
    used_up: Option<&str>,
    refusal: Refusal,
    wording: Wording,
    is_grpc: bool,
    mut add: impl FnMut(T::Name, T::Value),
) -> (u16, Cow<'static, str>) {
    // Where no wait helps, none is told.
    let wait = Some(refusal.retry_after).filter(|&wait| wait < Nanos::MAX);
    let why = &*reason(used_up, refusal);
    let mut number = itoa::Buffer::new();
    let seconds = wait.map(|wait| retry_after(wait, wording.resolution));
    let (advice, until, unit) = match seconds {
        Some(seconds) => (" Try again in ", number.format(seconds), " s."),
        None => ("", "", ""),
    };
    let kind = if refusal.reason == Reason::Unreachable { &UNREACHABLE } else { &EXCEEDED };
    if is_grpc {
        let message = [why, advice, until, unit].concat();
        tell_refused_grpc::<T>(kind, &message, wait, wording, add);
        return (200, Cow::Borrowed(""));
    }
    let body = match wording.body {
        RefusalBody::PlainText => [why, advice, until, unit, "\n"].concat(),
        RefusalBody::ProblemJson => {
            [kind.problem, why, advice, until, unit, "\",\"violated-policies\":[\"", policy, "\"]}"].concat()
        }
    };
    give::<T>(Name::ContentType, T::fixed(wording.body.content_type()), &mut add);
    if let Some(seconds) = seconds {
        give::<T>(Name::RetryAfter, numeral::<T>(seconds), &mut add);
    }
    give::<T>(Name::CacheControl, T::fixed(Fixed::NoStore), add);
    (kind.status, body.into())
}

/// A refusal in trailers only: `RESOURCE_EXHAUSTED` or `UNAVAILABLE`, and the milliseconds after which a client that retries
/// by itself does so (gRPC's A6).
fn tell_refused_grpc<T: Types>(
    kind: &Kind,
    message: &str,
    wait: Option<Nanos>,
    wording: Wording,
    mut add: impl FnMut(T::Name, T::Value),
) {
    let pushback = match wait {
        Some(wait) => {
            let millis = wait.saturating_add(wording.resolution).0.div_ceil(1_000_000);
            numeral::<T>(millis.min(LONGEST_PUSHBACK))
        }
        // Whoever gets it does not retry.
        None => T::value(Bytes::from_static(b"-1")),
    };
    give::<T>(Name::ContentType, T::fixed(Fixed::Grpc), &mut add);
    give::<T>(Name::GrpcStatus, numeral::<T>(kind.grpc), &mut add);
    give::<T>(Name::GrpcMessage, T::copied(message.as_bytes()), &mut add);
    give::<T>(Name::GrpcRetryPushback, pushback, &mut add);
    give::<T>(Name::CacheControl, T::fixed(Fixed::NoStore), add);
}

/// Why a request was refused, in a sentence of printable ASCII without quotes, backslashes and percent signs. `used_up` says
/// it of a policy's quota.
fn reason(used_up: Option<&str>, refusal: Refusal) -> Cow<'_, str> {
    match (refusal.reason, used_up) {
        (Reason::Overflow | Reason::Contended, _) => "New callers can't be counted at the moment.".into(),
        (Reason::Penalty, _) => "Too many requests were refused in a short time.".into(),
        (Reason::CostAboveLimit, _) => {
            format!("The request costs more than the limit of {} allows at once.", refusal.limit).into()
        }
        (Reason::Share, _) => {
            format!("This server's share of the limit, {} requests, is used up.", refusal.limit).into()
        }
        (Reason::Unreachable, _) => "Requests can't be counted at the moment.".into(),
        (_, Some(used_up)) => used_up.into(),
        (_, None) => format!("The limit of {} requests at once is used up.", refusal.limit).into(),
    }
}

pub(crate) fn bytes(text: Cow<'static, str>) -> Bytes {
    match text {
        Cow::Borrowed(text) => Bytes::from_static(text.as_bytes()),
        Cow::Owned(text) => Bytes::from(text),
    }
}

/// What kinds of refusals differ in.
struct Kind {
    status: u16,
    grpc: u64,
    /// How the body of a problem begins.
    problem: &'static str,
}

const EXCEEDED: Kind = Kind {
    status: 429,
    grpc: 8,
    problem: "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\
         \"title\":\"Request cannot be satisfied as assigned quota has been exceeded\",\"status\":429,\"detail\":\"",
};

const UNREACHABLE: Kind = Kind {
    status: 503,
    grpc: 14,
    problem: "{\"type\":\"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity\",\
         \"title\":\"Request cannot be satisfied due to temporary server capacity constraints\",\"status\":503,\
         \"detail\":\"",
};

/// A pushback has 32 bits, signed; a client that can't read one does not retry.
const LONGEST_PUSHBACK: u64 = i32::MAX as u64;

/// What a refusal's text depends on beside the refusal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wording {
    /// By how much the clock may be behind.
    pub(crate) resolution: Nanos,
    pub(crate) body: RefusalBody,
}

impl RefusalBody {
    const fn content_type(self) -> Fixed {
        match self {
            Self::ProblemJson => Fixed::Problem,
            Self::PlainText => Fixed::Plain,
        }
    }
}
