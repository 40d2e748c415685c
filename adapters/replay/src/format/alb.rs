//! Access logs of AWS's application load balancers: fields apart by spaces, some of them in quotes.

use crate::record::{Fault, MOST_FIELDS, Record, address, path, present};
use crate::stamp::Stamps;

use super::clf::{number, take_quoted, take_to};

/// Reads a line.
pub(super) fn parse(line: &[u8]) -> Result<Record<'_>, Fault> {
    let mut fields = [&b""[..]; FIELDS];
    let mut rest = line;
    let mut found = 0;
    for field in &mut fields {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            break;
        }
        *field = if rest.starts_with(b"\"") {
            take_quoted(&mut rest).ok_or(Fault::Shape)?
        } else {
            take_to(&mut rest, b' ').unwrap_or_else(|| std::mem::take(&mut rest))
        };
        found += 1;
    }
    if found <= AGENT || !KINDS.contains(&fields[KIND]) {
        return Err(Fault::Shape);
    }
    // A limiter decides when the request comes. Lines of older logs tell only when it was answered.
    let time = Stamps::iso(fields[CREATED]).or_else(|| Stamps::iso(fields[TIME]));
    Ok(Record {
        time: time.ok_or(Fault::Time)?,
        peer: address(fields[CLIENT]).ok_or(Fault::Address)?,
        forwarded: None,
        agent: present(fields[AGENT]).unwrap_or_default(),
        path: path(fields[REQUEST]),
        status: number(fields[STATUS]).ok_or(Fault::Shape)?,
        fields: [None; MOST_FIELDS],
    })
}

const KINDS: [&[u8]; 6] = [b"http", b"https", b"h2", b"grpcs", b"ws", b"wss"];
const KIND: usize = 0;
const TIME: usize = 1;
const CLIENT: usize = 3;
const STATUS: usize = 8;
const REQUEST: usize = 12;
const AGENT: usize = 13;
const CREATED: usize = 21;
const FIELDS: usize = 22;
