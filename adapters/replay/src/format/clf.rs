//! The common and the combined log format of Apache and nginx:
//! `host ident user [time] "request" status bytes "referer" "agent" "forwarded"`, where the last three may be missing.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memchr2};

use crate::record::{Fault, MOST_FIELDS, Record, address, path, present};
use crate::stamp::Stamps;

/// Reads a line.
pub(super) fn parse<'l>(line: &'l [u8], stamps: &mut Stamps) -> Result<Record<'l>, Fault> {
    let mut rest = line;
    let host = take_to(&mut rest, b' ').ok_or(Fault::Shape)?;
    let time = take_time(&mut rest, stamps)?;
    let request = take_quoted(&mut rest).ok_or(Fault::Shape)?;
    let status = take_word(&mut rest).ok_or(Fault::Shape)?;
    take_word(&mut rest).ok_or(Fault::Shape)?;
    take_quoted(&mut rest);
    let agent = take_quoted(&mut rest);
    let forwarded = take_quoted(&mut rest);
    Ok(Record {
        time,
        peer: address(host).ok_or(Fault::Address)?,
        forwarded: forwarded.and_then(present).map(unescaped),
        agent: agent.and_then(present).unwrap_or_default(),
        path: path(request),
        status: number(status).ok_or(Fault::Shape)?,
        fields: [None; MOST_FIELDS],
    })
}

/// Whether a line has what the combined format adds.
pub(super) fn is_combined(line: &[u8]) -> bool {
    memchr_iter(b'"', line).count() >= 6
}

/// A status, or none where a log writes `-`.
pub(super) fn number(text: &[u8]) -> Option<u16> {
    if present(text).is_none() {
        return Some(0);
    }
    let digit = |sum: u16, byte: &u8| byte.is_ascii_digit().then(|| sum * 10 + u16::from(byte - b'0'));
    (text.len() <= 3).then(|| text.iter().try_fold(0, digit))?
}

/// The time in brackets. A user's name may have spaces and brackets, but no quote; so the bracket that a request
/// follows is the one.
fn take_time(rest: &mut &[u8], stamps: &mut Stamps) -> Result<tollgate::Nanos, Fault> {
    let is_followed = |at: &usize| rest.get(at + 1..at + 3) == Some(b" \"");
    let ends = memchr_iter(b']', rest).find(is_followed).ok_or(Fault::Shape)?;
    let (before, after) = rest.split_at(ends);
    let begins = before.len().checked_sub(CLF_TIME + 1).ok_or(Fault::Time)?;
    let Some([b'[', text @ ..]) = before.get(begins..) else { return Err(Fault::Time) };
    *rest = after.get(2..).ok_or(Fault::Shape)?;
    stamps.clf(text).ok_or(Fault::Time)
}

/// What stands before the next `byte`, which is passed.
pub(super) fn take_to<'l>(rest: &mut &'l [u8], byte: u8) -> Option<&'l [u8]> {
    let at = memchr(byte, rest)?;
    let (word, after) = rest.split_at_checked(at)?;
    *rest = after.get(1..)?;
    Some(word)
}

/// A word, up to a space or the end, after any spaces.
fn take_word<'l>(rest: &mut &'l [u8]) -> Option<&'l [u8]> {
    let text = rest.trim_ascii_start();
    let (word, after) = text.split_at(memchr(b' ', text).unwrap_or(text.len()));
    *rest = after;
    (!word.is_empty()).then_some(word)
}

/// A text in quotes, after any spaces. A backslash escapes what follows it.
pub(super) fn take_quoted<'l>(rest: &mut &'l [u8]) -> Option<&'l [u8]> {
    let text = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', text.get(from..)?)?;
        if text.get(at) == Some(&b'"') {
            let (quoted, after) = text.split_at_checked(at)?;
            *rest = after.get(1..)?;
            return Some(quoted);
        }
        from = at + 2;
    }
}

/// A text without the escapes of Apache (`\"`) and nginx (`\x22`).
pub(super) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\\', text).is_none() {
        return Cow::Borrowed(text);
    }
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((byte, after)) = rest.split_first() {
        let (byte, after) = match (byte, after) {
            (b'\\', [b'x', high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, after),
                _ => (b'\\', rest.get(1..).unwrap_or_default()),
            },
            (b'\\', [b't', after @ ..]) => (b'\t', after),
            (b'\\', [b'n' | b'r', after @ ..]) => (b' ', after),
            (b'\\', [escaped, after @ ..]) => (*escaped, after),
            (byte, after) => (*byte, after),
        };
        plain.push(byte);
        rest = after;
    }
    Cow::Owned(plain)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// The length of `17/May/2015:10:05:03 +0000`.
const CLF_TIME: usize = 26;
