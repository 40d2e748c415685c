//! The responses that a gate gives in place of the application's.

use std::borrow::Cow;
use std::time::Duration;

use tollgate::{Nanos, Quota, Reason, Refusal};

use crate::fields::{Field, Fields, Merge, retry_after};
use crate::text::{Text, text};

/// A response of the gate's own. An adapter turns it into its framework's type.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "an answer that is not sent leaves the request to the application"]
pub struct Answer {
    status: u16,
    fields: Option<Fields>,
    own: heapless::Vec<(&'static str, heapless::String<LONGEST_VALUE>), 5>,
    /// What a responder adds.
    further: Vec<(String, String, Merge)>,
    body: heapless::String<LONGEST_BODY>,
    /// What a responder sends in the body's place.
    other_body: Option<Cow<'static, str>>,
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

/// The longest is a challenge with a header's name.
pub(crate) const LONGEST_VALUE: usize = 128;
const LONGEST_BODY: usize = 512;

impl Answer {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The fields, that of the content type included.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let keep = |(name, value)| Field { name, value, merge: Merge::Keep };
        let own = self.own.iter().map(move |(name, value)| keep((*name, value.as_str())));
        let further = self.further.iter().map(|(name, value, merge)| Field { name, value, merge: *merge });
        self.fields.iter().flat_map(Fields::iter).chain(own).chain(further)
    }

    /// The body, to be sent with any method but HEAD.
    pub fn body(&self) -> &str {
        self.other_body.as_deref().unwrap_or(&self.body)
    }

    /// The same with another status code, such as 503; a body of the gate's own says it too.
    pub fn with_status(mut self, status: u16) -> Self {
        if let Some((before, after)) = self.body.split_once(&*status_member(self.status)) {
            self.body = text(format_args!("{before}{}{after}", status_member(status)));
        }
        self.status = status;
        self
    }

    /// The same with another body.
    pub fn with_body(self, content_type: impl Into<String>, body: impl Into<Cow<'static, str>>) -> Self {
        let mut answer = self.with_field("content-type", content_type);
        answer.other_body = Some(body.into());
        answer
    }

    /// The same with this field in place of any of its name, the rate limit's included. A name or value that can't be
    /// sent is left out by the adapter.
    pub fn with_field(mut self, name: impl AsRef<str>, value: impl Into<String>) -> Self {
        let name = name.as_ref().to_ascii_lowercase();
        if let Some(fields) = self.fields.take() {
            let told =
                fields.iter().map(|field| (field.name.to_owned(), field.value.to_owned(), field.merge));
            self.further.splice(0..0, told);
        }
        self.own.retain(|(own, _)| *own != name);
        self.further.retain(|(further, ..)| *further != name);
        self.further.push((name, value.into(), Merge::Keep));
        self
    }

    /// `429 Too Many Requests` (RFC 6585 §4), or what clients of gRPC take for it.
    pub(crate) fn refused(
        policy: &str,
        quota: Option<Quota>,
        refusal: Refusal,
        fields: Option<Fields>,
        wording: Wording,
        is_grpc: bool,
    ) -> Self {
        // Where no wait helps, none is told.
        let wait = Some(refusal.retry_after).filter(|&wait| wait < Nanos::MAX);
        let why = reason(quota, refusal);
        let seconds = wait.map(|wait| retry_after(wait, wording.resolution));
        let advice: Text = match seconds {
            Some(seconds) => text(format_args!(" Try again in {seconds} s.")),
            None => Text::new(),
        };
        if is_grpc {
            return Self::refused_grpc(&why, &advice, wait, fields, wording);
        }
        let body = match wording.body {
            RefusalBody::PlainText => text(format_args!("{why}{advice}\n")),
            RefusalBody::ProblemJson => text(format_args!(
                "{{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\
                 \"title\":\"Request cannot be satisfied as assigned quota has been exceeded\",{},\
                 \"detail\":\"{why}{advice}\",\"violated-policies\":[\"{policy}\"]}}",
                status_member(429),
            )),
        };
        let seconds = seconds.map(|seconds| text::<LONGEST_VALUE>(format_args!("{seconds}")));
        let own = [
            Some(("content-type", wording.body.content_type())),
            seconds.as_ref().map(|seconds| ("retry-after", seconds.as_str())),
            Some(("cache-control", "no-store")),
        ];
        Self::new(429, fields, own.into_iter().flatten(), body)
    }

    /// A refusal in trailers only: `RESOURCE_EXHAUSTED`, and the milliseconds after which a client that retries by itself
    /// does so (gRPC's A6).
    fn refused_grpc(
        why: &str,
        advice: &str,
        wait: Option<Nanos>,
        fields: Option<Fields>,
        wording: Wording,
    ) -> Self {
        let message: heapless::String<LONGEST_VALUE> = text(format_args!("{why}{advice}"));
        let pushback: Text = match wait {
            Some(wait) => {
                let millis = wait.saturating_add(wording.resolution).0.div_ceil(1_000_000);
                text(format_args!("{}", millis.min(LONGEST_PUSHBACK)))
            }
            // Whoever gets it does not retry.
            None => text(format_args!("-1")),
        };
        let own = [
            ("content-type", "application/grpc"),
            ("grpc-status", "8"),
            ("grpc-message", message.as_str()),
            ("grpc-retry-pushback-ms", pushback.as_str()),
            ("cache-control", "no-store"),
        ];
        Self::new(200, fields, own.into_iter(), heapless::String::new())
    }

    /// `401 Unauthorized` (RFC 9110 §15.5.2).
    pub(crate) fn unauthorized(challenge: &str) -> Self {
        let body = text(format_args!("This route is for our own services: present the secret of one.\n"));
        Self::new(401, None, [("content-type", PLAIN), ("www-authenticate", challenge)].into_iter(), body)
    }

    /// `500 Internal Server Error`, for a request that must be counted and whose peer is not known. It tells the
    /// caller nothing; the log tells the operator.
    pub(crate) fn no_peer() -> Self {
        let body = text(format_args!("The server is not set up to take this request; its log says why.\n"));
        Self::new(500, None, [("content-type", PLAIN)].into_iter(), body)
    }

    /// Of at most five fields.
    fn new<'a>(
        status: u16,
        fields: Option<Fields>,
        own: impl Iterator<Item = (&'static str, &'a str)>,
        body: heapless::String<LONGEST_BODY>,
    ) -> Self {
        let own = own.take(5).map(|(name, value)| (name, text(format_args!("{value}")))).collect();
        Self { status, fields, own, further: Vec::new(), body, other_body: None }
    }
}

/// Why a request was refused, in a sentence of printable ASCII without quotes, backslashes and percent signs.
fn reason(quota: Option<Quota>, refusal: Refusal) -> heapless::String<96> {
    match (refusal.reason, quota) {
        (Reason::Overflow | Reason::Contended, _) => {
            text(format_args!("New callers can't be counted at the moment."))
        }
        (Reason::Penalty, _) => text(format_args!("Too many requests were refused in a short time.")),
        (Reason::CostAboveLimit, _) => {
            text(format_args!("The request costs more than the limit of {} allows at once.", refusal.limit))
        }
        (_, Some(quota)) => text(format_args!(
            "The limit of {} requests in {} s is used up.",
            quota.limit(),
            Duration::from(quota.window()).as_secs_f64(),
        )),
        (_, None) => text(format_args!("The limit of {} requests at once is used up.", refusal.limit)),
    }
}

fn status_member(status: u16) -> heapless::String<16> {
    text(format_args!("\"status\":{status}"))
}

/// A pushback has 32 bits, signed; a client that can't read one does not retry.
const LONGEST_PUSHBACK: u64 = i32::MAX as u64;

/// What a refusal's text depends on beside the refusal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wording {
    /// By how much the clock may be behind.
    pub(crate) resolution: Nanos,
    pub(crate) body: RefusalBody,
}

const PLAIN: &str = "text/plain; charset=utf-8";

impl RefusalBody {
    const fn content_type(self) -> &'static str {
        match self {
            Self::ProblemJson => "application/problem+json",
            Self::PlainText => PLAIN,
        }
    }
}
