//! `Forwarded` (RFC 7239), read from the right: what a trusted hop appended reads the same whatever it was appended to.

use core::net::IpAddr;

use heapless::Vec;

use super::list::{Split, blank, trim};
use super::node;

/// Cuts the last element off.
///
/// From the right, a quote that is met first ends a string, and the string begins at the next quote before which there is
/// no backslash: one within it is escaped, and its first one follows `=`. So a well-formed element ends this search at
/// the comma before it, whatever precedes that. A string without a begin is no element, and neither is what is left of it.
pub(super) fn split_last(line: &[u8]) -> Option<Split<'_>> {
    let mut left = line;
    loop {
        let Some(at) = left.iter().rposition(|&byte| byte == b',' || byte == b'"') else {
            return Some(Split { rest: None, element: line });
        };
        let (rest, _) = left.split_at_checked(at)?;
        match line.split_at_checked(at)? {
            (_, [b',', element @ ..]) => return Some(Split { rest: Some(rest), element }),
            _ => left = before_string(rest)?,
        }
    }
}

/// What precedes a string's first quote.
fn before_string(mut string: &[u8]) -> Option<&[u8]> {
    loop {
        let at = string.iter().rposition(|&byte| byte == b'"')?;
        (string, _) = string.split_at_checked(at)?;
        if !string.ends_with(b"\\") {
            return Some(string);
        }
    }
}

/// The address after the one `for` of an element; none if the element is not well-formed.
pub(super) fn address(element: &[u8]) -> Option<IpAddr> {
    let (mut found, mut rest) = (None, trim(element));
    while !rest.is_empty() {
        // Between semicolons there may be nothing.
        if !rest.starts_with(b";") {
            let pair = Pair::parse(rest)?;
            if pair.name.eq_ignore_ascii_case(b"for") && found.replace(pair.value.address()?).is_some() {
                return None;
            }
            rest = trim(pair.rest);
        }
        match rest {
            [] => {}
            [b';', after @ ..] => rest = trim(after),
            _ => return None,
        }
    }
    found
}

/// `name=value` at the begin of an element, and what follows it.
struct Pair<'r> {
    name: &'r [u8],
    value: Value<'r>,
    rest: &'r [u8],
}

enum Value<'r> {
    /// As it stands.
    Unquoted(&'r [u8]),
    /// Between its quotes, with its escapes.
    Quoted(&'r [u8]),
}

impl<'r> Pair<'r> {
    fn parse(text: &'r [u8]) -> Option<Self> {
        let (name, rest) = split_where(text, |byte| !is_token(byte))?;
        match (name, rest) {
            ([], _) => None,
            (_, [b'=', b'"', string @ ..]) => {
                let (value, rest) = string.split_at_checked(string_length(string)?)?;
                let (_, rest) = rest.split_first()?;
                Some(Self { name, value: Value::Quoted(value), rest })
            }
            (_, [b'=', rest @ ..]) => {
                // Not only tokens: hosts with ports are often written without quotes.
                let ends = |byte| blank(byte) || matches!(byte, b';' | b',' | b'"' | b'\\');
                let (value, rest) = split_where(rest, ends)?;
                Some(Self { name, value: Value::Unquoted(value), rest })
            }
            _ => None,
        }
    }
}

impl Value<'_> {
    fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Unquoted(text) => node::unquoted(text),
            Self::Quoted(text) => {
                let mut plain = Vec::<u8, { node::LONGEST }>::new();
                let mut bytes = text.iter();
                while let Some(&byte) = bytes.next() {
                    plain.push(if byte == b'\\' { *bytes.next()? } else { byte }).ok()?;
                }
                node::quoted(&plain)
            }
        }
    }
}

/// Up to the quote that ends a string.
fn string_length(string: &[u8]) -> Option<usize> {
    let mut escaped = false;
    string.iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

fn split_where(text: &[u8], ends: impl Fn(u8) -> bool) -> Option<(&[u8], &[u8])> {
    text.split_at_checked(text.iter().position(|&byte| ends(byte)).unwrap_or(text.len()))
}

/// The letters of a token (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    matches!(byte,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-'
        | b'.' | b'^' | b'_' | b'`' | b'|' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    // Abuse 9.
    #[test]
    fn the_address_of_an_element() {
        for element in [
            "for=198.51.100.1",
            " FOR=198.51.100.1 ",
            "for=\"198.51.100.1:80\"",
            "for=\"198\\.51.100.1\"",
            ";;for=198.51.100.1;",
            "proto=https ;\tfor=198.51.100.1; by=_x",
            "host=\"for=1.1.1.1;for=\\\"\";for=198.51.100.1;x=\"\"",
            "host=example.com:80;for=198.51.100.1;x=",
            "forth=1.1.1.1;for=198.51.100.1;by=\"[::1]\"",
        ] {
            assert_eq!(address(element.as_bytes()), "198.51.100.1".parse().ok(), "{element}");
        }
        for element in [
            "",
            ";",
            "for",
            "for=",
            "for=\"\"",
            "for=unknown",
            "for=_hidden",
            "for=\"_hidden\"",
            "proto=https",
            "198.51.100.1",
            "for=198.51.100.1:80",
            "for=\"198.51.100.1:_port\"",
            "for=2001:db8::1",
            "for=[2001:db8::1]",
            "for=\"2001:db8::1\"",
            "for=198.51.100.1;for=198.51.100.1",
            "for=198.51.100.1;FOR=unknown",
            "for =198.51.100.1",
            "for= 198.51.100.1",
            "for=198.51.100.1;=x",
            "for=198.51.100.1;x",
            "for=198.51.100.1;x=a b",
            "for=198.51.100.1;x=a\\b",
            "for=198.51.100.1;x=a\"b\"",
            "for=198.51.100.1;x=\"a\"b",
            "for=198.51.100.1;x=\"a",
            "for=198.51.100.1;x=\"a\\\"",
            "for=\"198.51.100.1",
            "for=198.51.100.1\"",
            "for=\"198.51.100.1 \"",
            "for=198.51.100.1 proto=https",
            "for=198.51.100.1,",
            "for=198.51.100.1;x=a,b",
            "f(r=198.51.100.1",
            "x y=z;for=198.51.100.1",
        ] {
            assert_eq!(address(element.as_bytes()), None, "{element}");
        }
    }

    #[test]
    fn an_element_ends_at_the_comma_before_it_whatever_precedes_that() {
        for element in [
            "",
            " for=a",
            "x=\"a, b\"",
            "x=\"a\\\", b\\\\\"",
            "x=\"=\\\",\";y=\"\";z=\",\"",
            "x=\"\\\\\";y=\",\"",
        ] {
            for left in ["", "a", "x=\"", "\\", "x=\"\\", "=", "\"\"", "x=\"a\",", ","] {
                let line = format!("{left},{element}");
                let Some(Split { rest: Some(rest), element: found }) = split_last(line.as_bytes()) else {
                    panic!("{line}")
                };
                assert_eq!((rest, found), (left.as_bytes(), element.as_bytes()), "{line}");
            }
        }
        for broken in ["\"", "a, b\"", "for=1.1.1.1, \\\"\""] {
            assert!(split_last(broken.as_bytes()).is_none(), "{broken}");
        }
    }
}
