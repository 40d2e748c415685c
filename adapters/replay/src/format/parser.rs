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
                self.value = serde_json::from_slice(line).map_err(|_| Fault::Shape)?;
                if !json::has_keys(&self.value, keys) {
                    return Err(Fault::Shape);
                }
                json::record(&self.value, keys, &self.wanted, &mut self.stamps)
            }
        }
    }
}
