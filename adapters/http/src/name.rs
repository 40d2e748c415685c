//! Names of fields, made ready once.

use std::fmt;

use bytes::Bytes;

use crate::fields::Merge;

/// The names that gates write, in lower case. An adapter keeps them in its framework's type.
pub const NAMES: [&str; 12] = [
    "ratelimit-policy",
    "ratelimit",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "content-type",
    "retry-after",
    "cache-control",
    "www-authenticate",
    "grpc-status",
    "grpc-message",
    "grpc-retry-pushback-ms",
];

/// One of [`NAMES`], which are in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Name {
    RateLimitPolicy,
    RateLimit,
    Limit,
    Remaining,
    Reset,
    ContentType,
    RetryAfter,
    CacheControl,
    WwwAuthenticate,
    GrpcStatus,
    GrpcMessage,
    GrpcRetryPushback,
}

impl Name {
    pub(crate) const fn as_str(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// A field of a response, to be written there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    name: Written,
    value: Bytes,
    /// What to do if the response has such a field already.
    pub merge: Merge,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Written {
    Known(Name),
    Other(String),
}

impl Line {
    pub(crate) fn known(name: Name, value: Bytes, merge: Merge) -> Self {
        Self { name: Written::Known(name), value, merge }
    }

    pub(crate) fn other(name: String, value: String, merge: Merge) -> Self {
        Self { name: Written::Other(name), value: value.into(), merge }
    }

    /// The name and the value in the types of one of the versions of the crate `http`; `None` if they can't be sent, as those
    /// of a responder's may not. `known` are [`NAMES`]; `value` is the type's `from_maybe_shared`, which copies nothing.
    pub fn parse<N, V>(
        self,
        known: &[N; NAMES.len()],
        value: impl FnOnce(Bytes) -> Option<V>,
    ) -> Option<(N, V)>
    where
        N: Clone + for<'a> TryFrom<&'a [u8]>,
    {
        let name = match self.name {
            Written::Known(name) => known[name as usize].clone(),
            Written::Other(name) => N::try_from(name.as_bytes()).ok()?,
        };
        Some((name, value(self.value)?))
    }
}

/// The name of a request's field, ready to be looked up.
#[derive(Clone, PartialEq, Eq)]
pub struct FieldName {
    /// In lower case.
    text: String,
    #[cfg(feature = "http-1")]
    known: Option<http::HeaderName>,
}

impl FieldName {
    /// A name in any case.
    pub fn new(name: &str) -> Self {
        Self {
            text: name.to_ascii_lowercase(),
            #[cfg(feature = "http-1")]
            known: http::HeaderName::from_bytes(name.as_bytes()).ok(),
        }
    }

    /// The name, in lower case.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// As version 1 of the crate `http` has it; `None` if no field can be called so.
    #[cfg(feature = "http-1")]
    pub(crate) fn known(&self) -> Option<&http::HeaderName> {
        self.known.as_ref()
    }
}

impl fmt::Debug for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_list() {
        let named = [
            (Name::RateLimitPolicy, "ratelimit-policy"),
            (Name::RateLimit, "ratelimit"),
            (Name::Reset, "x-ratelimit-reset"),
            (Name::ContentType, "content-type"),
            (Name::RetryAfter, "retry-after"),
            (Name::WwwAuthenticate, "www-authenticate"),
            (Name::GrpcRetryPushback, "grpc-retry-pushback-ms"),
        ];
        for (name, text) in named {
            assert_eq!(name.as_str(), text);
        }
        assert_eq!(Name::GrpcRetryPushback as usize + 1, NAMES.len());
    }
}
