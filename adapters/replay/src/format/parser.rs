use std::borrow::Cow;

use serde_json::Value;

use crate::record::{Fault, Record, Wanted};
use crate::stamp::Stamps;

use super::{Format, alb, clf, json};

/// Reads the lines of one log.
///
/// ```
/// use tollgate_replay::{Format, Parser, Wanted};
/// let mut parser = Parser::new(Format::Common, Wanted::default());
/// let line = br#"203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 12"#;
/// let record = parser.parse(line)?;
/// assert_eq!((record.path, record.status), (&b"/a"[..], 200));
/// # Ok::<(), tollgate_replay::Fault>(())
/// ```
#[derive(Debug)]
pub struct Parser {
    format: Format,
    wanted: Wanted,
    stamps: Stamps,
    /// The last line, if it was JSON: records borrow from it.
    value: Value,
}

impl Parser {
    /// A parser of lines of `format`, which also looks for what is `wanted`.
    pub fn new(format: Format, wanted: Wanted) -> Self {
        Self { format, wanted, stamps: Stamps::default(), value: Value::Null }
    }

    /// The format that it reads.
    pub const fn format(&self) -> &Format {
        &self.format
    }

    /// Reads one line, without its end.
    ///
    /// # Errors
    /// If the line is not of the format; the error says what is amiss.
    ///
    /// # Security
    /// What a caller writes (the path, the user agent) can't pass for another field, since servers escape quotes. With a
    /// pattern of one's own that is so only where the log escapes what ends a field.
    pub fn parse<'l>(&'l mut self, line: &'l [u8]) -> Result<Record<'l>, Fault> {
        match &self.format {
            Format::Common | Format::Combined => clf::parse(line, &mut self.stamps),
            Format::Alb => alb::parse(line),
            Format::Pattern(pattern) => pattern.parse(line, &self.wanted, &mut self.stamps),
            Format::Nginx | Format::Caddy | Format::Traefik | Format::Envoy => {
                let keys = self.format.keys().ok_or(Fault::Shape)?;
                let value = serde_json::from_slice(line).or_else(|error| lossy(line).unwrap_or(Err(error)));
                self.value = value.map_err(|_| Fault::Shape)?;
                if !json::has_keys(&self.value, keys) {
                    return Err(Fault::Shape);
                }
                json::record(&self.value, keys, &self.wanted, &mut self.stamps)
            }
        }
    }
}

/// A line that is JSON but for bytes that are not UTF-8, if it has such: nginx writes what a caller sent as it is, and a
/// caller must not be missed for it.
#[cold]
fn lossy(line: &[u8]) -> Option<serde_json::Result<Value>> {
    match String::from_utf8_lossy(line) {
        Cow::Owned(text) => Some(serde_json::from_str(&text)),
        Cow::Borrowed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_with_bytes_that_are_not_utf8_is_read() {
        let line =
            b"{\"msec\":\"1431857103.5\",\"remote_addr\":\"198.18.0.1\",\"http_user_agent\":\"caf\xe9\"}";
        let mut parser = Parser::new(Format::Nginx, Wanted::default());
        let record = parser.parse(line).unwrap();
        assert_eq!(record.agent, "caf\u{fffd}".as_bytes());
        assert_eq!(Format::detect([&line[..]]), Some(Format::Nginx));
        assert_eq!(parser.parse(b"{\"\xe9").unwrap_err(), Fault::Shape);
    }
}
