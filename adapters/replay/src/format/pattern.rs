use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use memchr::memmem;

use crate::record::{Fault, MOST_FIELDS, Record, Wanted, address, is_header, path, present};
use crate::stamp::Stamps;

use super::clf::{number, unescaped};

/// A format of one's own, by named fields: `{peer} [{time}] "{request}" {status} "{agent}"`.
///
/// A field reaches to the text that follows it in the pattern. Known names are `peer` and `time`, which must be there,
/// `request` or `path`, `status`, `agent`, and `forwarded`; `{_}` is passed over, and any other name is a field that own
/// services can be known by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// What stands before the first field.
    begin: Vec<u8>,
    fields: Vec<Field>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Field {
    name: String,
    /// What follows it; nothing if it reaches to the end.
    then: Vec<u8>,
}

/// Why a pattern can't be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// A brace is missing.
    #[error("a brace is not closed: write each field as {{name}}")]
    Unclosed,
    /// Nothing says where one field ends and the next begins.
    #[error("two fields touch: put the text between them that the log has there, such as a space")]
    Touching,
    /// Who called is not said.
    #[error("no field names the caller: add {{peer}} where the log has the client's address")]
    NoPeer,
    /// When is not said.
    #[error("no field tells the time: add {{time}} where the log has it")]
    NoTime,
}

impl Pattern {
    /// Reads a line.
    pub(super) fn parse<'l>(
        &self,
        line: &'l [u8],
        wanted: &Wanted,
        stamps: &mut Stamps,
    ) -> Result<Record<'l>, Fault> {
        let mut rest = line.strip_prefix(self.begin.as_slice()).ok_or(Fault::Shape)?;
        let (mut time, mut peer) = (None, None);
        let mut record = Record {
            time: tollgate::Nanos::ZERO,
            peer: std::net::Ipv4Addr::UNSPECIFIED.into(),
            forwarded: None,
            agent: &[],
            path: &[],
            status: 0,
            fields: [None; MOST_FIELDS],
        };
        for Field { name, then } in &self.fields {
            let ends = if then.is_empty() { Some(rest.len()) } else { memmem::find(rest, then) };
            let (text, after) = rest.split_at(ends.ok_or(Fault::Shape)?);
            rest = after.get(then.len()..).unwrap_or_default();
            match name.as_str() {
                "time" => time = Some(stamps.any(text).ok_or(Fault::Time)?),
                "peer" => peer = Some(address(text).ok_or(Fault::Address)?),
                "request" => record.path = path(text),
                "path" => record.path = text,
                "status" => record.status = number(text).ok_or(Fault::Shape)?,
                "agent" => record.agent = present(text).unwrap_or_default(),
                "forwarded" => record.forwarded = present(text).map(unescaped),
                "_" => {}
                name => field(name, text, wanted, &mut record),
            }
        }
        record.time = time.ok_or(Fault::Time)?;
        record.peer = peer.ok_or(Fault::Address)?;
        Ok(record)
    }
}

/// Puts a field with a name of its own where it is wanted.
fn field<'l>(name: &str, text: &'l [u8], wanted: &Wanted, record: &mut Record<'l>) {
    if wanted.forwarded.as_ref().is_some_and(|header| is_header(name, header)) {
        record.forwarded = present(text).map(unescaped).map(Cow::into_owned).map(Cow::Owned);
    }
    for (slot, field) in record.fields.iter_mut().zip(&wanted.fields) {
        if is_header(name, field) {
            *slot = present(text);
        }
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let (begin, mut rest) = text.split_once('{').ok_or(PatternError::NoPeer)?;
        let mut fields = Vec::new();
        loop {
            let (name, after) = rest.split_once('}').ok_or(PatternError::Unclosed)?;
            let name = if name.is_empty() { "_" } else { name };
            let (then, next) = after.split_once('{').map_or((after, None), |(then, next)| (then, Some(next)));
            fields.push(Field { name: name.into(), then: then.into() });
            match next {
                Some(_) if then.is_empty() => return Err(PatternError::Touching),
                Some(next) => rest = next,
                None => break,
            }
        }
        let names = |name: &str| fields.iter().any(|field| field.name == name);
        match (names("peer"), names("time")) {
            (true, true) => Ok(Self { begin: begin.into(), fields }),
            (false, _) => Err(PatternError::NoPeer),
            (_, false) => Err(PatternError::NoTime),
        }
    }
}

/// The pattern as it was written.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.begin))?;
        for Field { name, then } in &self.fields {
            write!(f, "{{{name}}}{}", String::from_utf8_lossy(then))?;
        }
        Ok(())
    }
}
