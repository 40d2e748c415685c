//! Names of fields, made ready once.

use std::fmt;

use bytes::Bytes;

/// The names of fields and their values in the types of one version of the crate `http`: see [`types!`](crate::types).
pub trait Types {
    /// The type of names.
    type Name;
    /// The type of values.
    ///
    /// One that many responses have is kept and cloned for each, whichever thread it is of.
    type Value: Clone + Send + Sync + 'static;
    /// A name that gates write.
    #[doc(hidden)]
    fn name(name: Name) -> Self::Name;
    /// A value that gates write.
    #[doc(hidden)]
    fn fixed(value: Fixed) -> Option<Self::Value> {
        Self::value(value.bytes())
    }
    /// A value of these bytes, without a copy, if it can be sent. It depends on nothing but the bytes.
    fn value(value: Bytes) -> Option<Self::Value>;
    /// The same of a copy.
    fn copied(value: &[u8]) -> Option<Self::Value> {
        Self::value(Bytes::copy_from_slice(value))
    }
}

/// `types!(Sent: HeaderName, HeaderValue)` makes a type `Sent` with [`Types`] of these two, which are one version's of the
/// crate `http`. The names that gates write, and the values that are always the same, are made by the compiler.
#[macro_export]
macro_rules! types {
    ($visibility:vis $types:ident: $name:ty, $value:ty) => {
        #[derive(Debug)]
        $visibility enum $types {}

        impl $crate::Types for $types {
            type Name = $name;
            type Value = $value;

            #[inline]
            fn name(name: $crate::Name) -> $name {
                use $crate::Name::{self, *};
                const fn ready(name: Name) -> $name {
                    <$name>::from_static(name.as_str())
                }
                match name {
                    RateLimitPolicy => const { ready(RateLimitPolicy) },
                    RateLimit => const { ready(RateLimit) },
                    Limit => const { ready(Limit) },
                    Remaining => const { ready(Remaining) },
                    Reset => const { ready(Reset) },
                    ContentType => const { ready(ContentType) },
                    RetryAfter => const { ready(RetryAfter) },
                    CacheControl => const { ready(CacheControl) },
                    WwwAuthenticate => const { ready(WwwAuthenticate) },
                    GrpcStatus => const { ready(GrpcStatus) },
                    GrpcMessage => const { ready(GrpcMessage) },
                    GrpcRetryPushback => const { ready(GrpcRetryPushback) },
                }
            }

            #[inline]
            fn fixed(value: $crate::Fixed) -> Option<$value> {
                use $crate::Fixed::{self, *};
                const fn ready(value: Fixed) -> $value {
                    <$value>::from_static(value.as_str())
                }
                Some(match value {
                    Problem => const { ready(Problem) },
                    Plain => const { ready(Plain) },
                    Grpc => const { ready(Grpc) },
                    NoStore => const { ready(NoStore) },
                })
            }

            #[inline]
            fn value(value: $crate::Bytes) -> Option<$value> {
                <$value>::from_maybe_shared(value).ok()
            }

            #[inline]
            fn copied(value: &[u8]) -> Option<$value> {
                <$value>::from_bytes(value).ok()
            }
        }
    };
}

/// What is put into a list, and not into a response: names and values as gates have them.
pub(crate) enum Listed {}

impl Types for Listed {
    type Name = Name;
    type Value = Bytes;

    #[inline]
    fn name(name: Name) -> Name {
        name
    }

    #[inline]
    fn value(value: Bytes) -> Option<Bytes> {
        Some(value)
    }
}

/// Gives a name that gates write and its value to `add`; leaves out what can't be sent.
#[inline]
pub(crate) fn give<T: Types>(name: Name, value: Option<T::Value>, add: impl FnOnce(T::Name, T::Value)) {
    if let Some(value) = value {
        add(T::name(name), value);
    }
}

/// The same of any name.
pub(crate) fn other<T>(name: &str, value: String, add: impl FnOnce(T::Name, T::Value))
where
    T: Types<Name: for<'a> TryFrom<&'a [u8]>>,
{
    if let (Ok(name), Some(value)) = (T::Name::try_from(name.as_bytes()), T::value(value.into())) {
        add(name, value);
    }
}

/// In lower case.
const NAMES: [&str; 12] = [
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

/// A name that gates write.
// `NAMES` are in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[doc(hidden)]
pub enum Name {
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
    /// Whether it tells where a caller stands.
    pub(crate) fn is_of_fields(self) -> bool {
        use Name::{Limit, RateLimit, RateLimitPolicy, Remaining, Reset};
        matches!(self, RateLimitPolicy | RateLimit | Limit | Remaining | Reset)
    }

    #[doc(hidden)]
    pub const fn as_str(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// A value that is the same on all responses that have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[doc(hidden)]
pub enum Fixed {
    Problem,
    Plain,
    Grpc,
    NoStore,
}

impl Fixed {
    #[doc(hidden)]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Problem => "application/problem+json",
            Self::Plain => "text/plain; charset=utf-8",
            Self::Grpc => "application/grpc",
            Self::NoStore => "no-store",
        }
    }

    pub(crate) const fn bytes(self) -> Bytes {
        Bytes::from_static(self.as_str().as_bytes())
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
