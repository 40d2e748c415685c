//! An address as proxies write it: with a port, in brackets, with a zone.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An element of `X-Forwarded-For`, or the value of a header that holds one address: IPv4 with or without a port, IPv6
/// alone or in brackets, then with or without a port. Ports and zones are checked and dropped.
pub(super) fn any(text: &[u8]) -> Option<IpAddr> {
    let text = short(text)?;
    endpoint(text).or_else(|| v6(text))
}

/// What RFC 7239 allows in quotes: as above, but IPv6 always in brackets.
pub(super) fn quoted(text: &[u8]) -> Option<IpAddr> {
    endpoint(short(text)?)
}

/// What RFC 7239 allows without quotes: IPv4 alone, since `:`, `[` and `]` are no letters of a token.
pub(super) fn unquoted(text: &[u8]) -> Option<IpAddr> {
    v4(short(text)?)
}

/// The longest text that is looked at, in bytes: an address takes 45, a port 6, brackets 2, a zone the rest.
pub(super) const LONGEST: usize = 128;

fn short(text: &[u8]) -> Option<&str> {
    if text.len() <= LONGEST { str::from_utf8(text).ok() } else { None }
}

fn endpoint(text: &str) -> Option<IpAddr> {
    if let Some(text) = text.strip_prefix('[') {
        let (address, port) = text.split_once(']')?;
        return v6(address).filter(|_| port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }
    match text.split_once(':') {
        Some((address, port)) => v4(address).filter(|_| is_port(port)),
        None => v4(text),
    }
}

fn v4(text: &str) -> Option<IpAddr> {
    text.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
}

fn v6(text: &str) -> Option<IpAddr> {
    let address = match text.split_once('%') {
        Some((address, zone)) if is_zone(zone) => address,
        Some(_) => return None,
        None => text,
    };
    address.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}

/// The name or number of an interface, in the letters that RFC 6874 gives it.
fn is_zone(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// 0 to 65535, up to five digits and nothing else.
fn is_port(text: &str) -> bool {
    text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    // Abuse 6: zone ids, ports and brackets.
    #[test]
    fn an_address_in_any_dress_is_the_bare_one() {
        let is = |text: &str, address: &str| {
            assert_eq!(any(text.as_bytes()), Some(address.parse().unwrap()), "{text}");
        };
        for v4 in ["198.51.100.1", "198.51.100.1:0", "198.51.100.1:00080", "198.51.100.1:65535"] {
            is(v4, "198.51.100.1");
        }
        for v6 in
            ["fe80::1", "[fe80::1]", "[fe80::1]:443", "fe80::1%eth0", "[fe80::1%25br-0.7]:1", "FE80:0::0001"]
        {
            is(v6, "fe80::1");
        }
        is(&format!("fe80::1%{}", "z".repeat(120)), "fe80::1");
    }

    #[test]
    fn whatever_else_is_no_address() {
        let long = format!("fe80::1%{}", "z".repeat(121));
        for text in [
            "",
            " ",
            "unknown",
            "_hidden",
            "localhost",
            "198.51.100",
            "198.51.100.256",
            "198.051.100.1",
            "0xc6.51.100.1",
            "3325256705",
            "198.51.100.1.",
            "198.51.100.1:",
            "198.51.100.1:+80",
            "198.51.100.1:65536",
            "198.51.100.1:000080",
            "198.51.100.1:http",
            "198.51.100.1:80:80",
            "198.51.100.1%eth0",
            "198.51.100.1/32",
            "[198.51.100.1]",
            "[198.51.100.1]:80",
            "[fe80::1",
            "fe80::1]",
            "[[fe80::1]]",
            "[fe80::1]80",
            "[fe80::1]:",
            "[fe80::1]:65536",
            "[fe80::1] ",
            "[]",
            "[]:80",
            "fe80::1%",
            "fe80::1%e%f",
            "fe80::1%e/0",
            "fe80::12345",
            "fe80:::1",
            "1:2:3:4:5:6:7:8:9",
            "::ffff:198.051.100.1",
            "198.51.100.1\0",
            "%",
            ":",
            "::1 ",
            &long,
        ] {
            assert_eq!(any(text.as_bytes()), None, "{text}");
        }
        assert_eq!(any(b"198.51.100.1\xff"), None);
    }

    #[test]
    fn rfc_7239_wants_quotes_and_brackets() {
        for (text, in_quotes, without) in [
            ("198.51.100.1", true, true),
            ("198.51.100.1:80", true, false),
            ("[fe80::1]", true, false),
            ("[fe80::1]:80", true, false),
            ("fe80::1", false, false),
        ] {
            assert_eq!(quoted(text.as_bytes()).is_some(), in_quotes, "{text}");
            assert_eq!(unquoted(text.as_bytes()).is_some(), without, "{text}");
        }
    }
}
