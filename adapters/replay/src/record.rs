use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use tollgate::Nanos;

/// What one line of a log says about one request. Texts are borrowed from the line, or from the parser that read it.
#[derive(Clone, Debug)]
pub struct Record<'l> {
    /// When, since 1970.
    pub time: Nanos,
    /// Who opened the connection.
    pub peer: IpAddr,
    /// The field that names callers behind proxies, if the log has it; several lines of it are joined by commas.
    pub forwarded: Option<Cow<'l, [u8]>>,
    /// The user agent, or nothing.
    pub agent: &'l [u8],
    /// The path of the request, with its query; the whole request line if that is odd.
    pub path: &'l [u8],
    /// The status of the response, or 0 if there was none.
    pub status: u16,
    /// The fields that [`Wanted::fields`] asks for, in that order.
    pub fields: [Option<&'l [u8]>; MOST_FIELDS],
}

/// What to look for in a line beside the usual.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Wanted {
    /// The name of the field that names callers behind proxies.
    pub forwarded: Option<String>,
    /// Names of further fields, at most [`MOST_FIELDS`].
    pub fields: Vec<String>,
}

/// The most fields that can be asked for.
pub const MOST_FIELDS: usize = 4;

/// Why a line is no record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// It does not have the format's shape.
    Shape,
    /// Where the caller's address should be there is none.
    Address,
    /// Where the time should be there is none, or one before 1970.
    Time,
    /// It is longer than a line may be.
    TooLong,
}

/// All reasons, for counting.
pub const FAULTS: [Fault; 4] = [Fault::Shape, Fault::Address, Fault::Time, Fault::TooLong];

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shape => "not of the format",
            Self::Address => "no address of a caller (a host's name?)",
            Self::Time => "no time that can be read",
            Self::TooLong => "longer than 1 MiB",
        })
    }
}

/// An address as logs write it: alone, with a port, in brackets, with a zone.
pub(crate) fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let text = match text.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?.0,
        // An IPv4 address with its port; an IPv6 address would have more colons.
        None => match text.split_once(':') {
            Some((v4, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => v4,
            _ => text,
        },
    };
    text.split_once('%').map_or(text, |(bare, _)| bare).parse().ok()
}

/// The path of a request line (`GET /path HTTP/1.1`); of an absolute one, what follows the host.
pub(crate) fn path(request: &[u8]) -> &[u8] {
    let mut parts = request.splitn(3, |byte| *byte == b' ');
    let target = match (parts.next(), parts.next()) {
        (_, Some(target)) => target,
        (Some(alone), None) => alone,
        (None, None) => &[],
    };
    if target.starts_with(b"/") {
        return target;
    }
    match memchr::memmem::find(target, b"://") {
        Some(scheme) => {
            let host = target.get(scheme + 3..).unwrap_or_default();
            memchr::memchr(b'/', host).and_then(|at| host.get(at..)).unwrap_or(b"/")
        }
        None => target,
    }
}

/// What logs write for nothing is nothing.
pub(crate) fn present(text: &[u8]) -> Option<&[u8]> {
    (!text.is_empty() && text != b"-").then_some(text)
}

/// Whether a log's name for a field is that of this header: `http_x_real_ip`, `x_real_ip` and `request_X-Real-IP` are
/// `X-Real-IP`.
pub(crate) fn is_header(key: &str, name: &str) -> bool {
    let strip = |prefix: &str| key.get(..prefix.len()).filter(|start| start.eq_ignore_ascii_case(prefix));
    let same = |key: &[u8]| {
        let folded = |byte: &u8| if *byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
        key.len() == name.len() && key.iter().map(folded).eq(name.as_bytes().iter().map(folded))
    };
    same(key.as_bytes())
        || PREFIXES.iter().any(|prefix| strip(prefix).is_some() && same(&key.as_bytes()[prefix.len()..]))
}

/// What logs put before a header's name.
const PREFIXES: [&str; 3] = ["http_", "request_", "req_"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_logs_write_them() {
        for text in ["203.0.113.7", "203.0.113.7:4242", "[::ffff:203.0.113.7]:4242", "[::ffff:203.0.113.7]"] {
            let found = address(text.as_bytes()).map(|address| address.to_canonical());
            assert_eq!(found, "203.0.113.7".parse().ok(), "{text}");
        }
        assert_eq!(address(b"fe80::1%eth0"), "fe80::1".parse().ok());
        assert_eq!(address(b"[fe80::1%eth0]:80"), "fe80::1".parse().ok());
        for text in
            ["", "-", "crawler.example", "203.0.113", "203.0.113.7:port", "[", "[]", "unix:", "1.2.3.4.5"]
        {
            assert_eq!(address(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn paths_are_found() {
        for (request, expected) in [
            ("GET /a?b HTTP/1.1", "/a?b"),
            ("GET http://host:80/a/b HTTP/1.1", "/a/b"),
            ("GET https://host HTTP/1.1", "/"),
            ("GET /?to=http://host/x HTTP/1.1", "/?to=http://host/x"),
            ("garbage", "garbage"),
            ("", ""),
        ] {
            assert_eq!(path(request.as_bytes()), expected.as_bytes(), "{request}");
        }
    }

    #[test]
    fn a_header_is_known_by_what_logs_call_it() {
        for key in ["X-Real-IP", "x_real_ip", "http_x_real_ip", "request_X-Real-Ip"] {
            assert!(is_header(key, "x-real-ip"), "{key}");
        }
        for key in ["real_ip", "http_", "x_real_ip_", "höttp_x_real_ip", ""] {
            assert!(!is_header(key, "x-real-ip"), "{key}");
        }
    }
}
