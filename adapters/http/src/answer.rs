//! The responses that a gate gives in place of the application's.

use std::time::Duration;

use tollgate::{Nanos, Reason, Refusal};

use crate::fields::{Field, Fields, Merge, retry_after};
use crate::policy::Policy;
use crate::text::{Text, text};

/// A response of the gate's own. An adapter turns it into its framework's type.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "an answer that is not sent leaves the request to the application"]
pub struct Answer {
    status: u16,
    fields: Option<Fields>,
    own: heapless::Vec<(&'static str, heapless::String<LONGEST_VALUE>), 3>,
    body: heapless::String<LONGEST_BODY>,
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

// The place for a form of refusal that gRPC clients understand (status 200 and `grpc-status: 8`), which is not here yet.
impl Answer {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The fields, that of the content type included.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let own =
            self.own.iter().map(|(name, value)| Field { name, value: value.as_str(), merge: Merge::Keep });
        self.fields.iter().flat_map(Fields::iter).chain(own)
    }

    /// The body, to be sent with any method but HEAD.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// `429 Too Many Requests` (RFC 6585 §4).
    pub(crate) fn refused(
        policy: &Policy,
        refusal: Refusal,
        fields: Option<Fields>,
        wording: Wording,
    ) -> Self {
        let seconds = retry_after(refusal.retry_after, wording.resolution);
        let why: heapless::String<96> = match refusal.reason {
            Reason::Overflow | Reason::Contended => {
                text(format_args!("New callers can't be counted at the moment."))
            }
            _ => text(format_args!(
                "The limit of {} requests in {:?} is used up.",
                refusal.limit,
                Duration::from(policy.quota.window()),
            )),
        };
        let body = match wording.body {
            RefusalBody::PlainText => text(format_args!("{why} Try again in {seconds} s.\n")),
            RefusalBody::ProblemJson => text(format_args!(
                "{{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\
                 \"title\":\"Request cannot be satisfied as assigned quota has been exceeded\",\"status\":429,\
                 \"detail\":\"{why} Try again in {seconds} s.\",\"violated-policies\":[\"{}\"]}}",
                policy.name,
            )),
        };
        let seconds: Text = text(format_args!("{seconds}"));
        let own = [
            ("content-type", wording.body.content_type()),
            ("retry-after", &seconds),
            ("cache-control", "no-store"),
        ];
        Self::new(429, fields, own, body)
    }

    /// `401 Unauthorized` (RFC 9110 §15.5.2).
    pub(crate) fn unauthorized(challenge: &str) -> Self {
        let body = text(format_args!("This route is for our own services: present the secret of one.\n"));
        Self::new(401, None, [("content-type", PLAIN), ("www-authenticate", challenge)], body)
    }

    /// `500 Internal Server Error`, for a request that must be counted and whose peer is not known. It tells the
    /// caller nothing; the log tells the operator.
    pub fn no_peer() -> Self {
        let body = text(format_args!("The server is not set up to take this request; its log says why.\n"));
        Self::new(500, None, [("content-type", PLAIN)], body)
    }

    fn new<const N: usize>(
        status: u16,
        fields: Option<Fields>,
        own: [(&'static str, &str); N],
        body: heapless::String<LONGEST_BODY>,
    ) -> Self {
        const { assert!(N <= 3) };
        let own = own.into_iter().map(|(name, value)| (name, text(format_args!("{value}")))).collect();
        Self { status, fields, own, body }
    }
}

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
