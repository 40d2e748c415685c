//! Where a header ends, and what it says. The addresses are read by the crate `proxy-header`; what it lets pass
//! although the format forbids it is refused here.

use std::net::SocketAddr;

use proxy_header::{ParseConfig, ProxyHeader};

use crate::error::HandshakeError;
use crate::proxy_protocol::ProxyProtocol;

/// How much of a header there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame {
    /// More is needed. Reading on until there are `at_most` bytes in all is safe; the header may be shorter.
    Partial { at_most: usize },
    /// The first `length` bytes are the header.
    Whole { length: usize },
}

/// Finds the end of the header that `bytes` begin with.
pub(crate) fn frame(bytes: &[u8]) -> Result<Frame, HandshakeError> {
    if agree(bytes, V2_SIGNATURE) {
        let Some(&[high, low]) = bytes.get(V2_LENGTH_AT..V2_BEGIN) else {
            return Ok(Frame::Partial { at_most: V2_BEGIN });
        };
        let length = V2_BEGIN + usize::from(u16::from_be_bytes([high, low]));
        within(length, ProxyProtocol::LONGEST_V2)?;
        Ok(if bytes.len() < length { Frame::Partial { at_most: length } } else { Frame::Whole { length } })
    } else if agree(bytes, V1_SIGNATURE) {
        if let Some(end) = bytes.iter().take(ProxyProtocol::LONGEST_V1).position(|&byte| byte == b'\n') {
            return Ok(Frame::Whole { length: end + 1 });
        }
        within(bytes.len() + 1, ProxyProtocol::LONGEST_V1)?;
        Ok(Frame::Partial { at_most: ProxyProtocol::LONGEST_V1 })
    } else {
        Err(HandshakeError::Missing)
    }
}

/// The source that a whole header tells, if it tells any.
pub(crate) fn source(header: &[u8]) -> Result<Option<SocketAddr>, HandshakeError> {
    if header.starts_with(V1_SIGNATURE) {
        strict_v1(header).ok_or(HandshakeError::Malformed)?;
    } else if header.get(V2_COMMAND_AT) == Some(&V2_LOCAL) {
        // What follows is not to be looked at, not even its family.
        return Ok(None);
    }
    let config = ParseConfig { include_tlvs: false, allow_v1: true, allow_v2: true };
    match ProxyHeader::parse(header, config) {
        Ok((parsed, length)) if length == header.len() => {
            Ok(parsed.proxied_address().map(|addresses| addresses.source))
        }
        _ => Err(HandshakeError::Malformed),
    }
}

/// Whether one of the two begins with the other.
fn agree(bytes: &[u8], signature: &[u8]) -> bool {
    bytes.iter().zip(signature).all(|(byte, expected)| byte == expected)
}

fn within(length: usize, longest: usize) -> Result<(), HandshakeError> {
    if length > longest { Err(HandshakeError::TooLong { longest }) } else { Ok(()) }
}

/// A line that ends with CRLF, and is `UNKNOWN` or has ports without signs and heading zeros.
fn strict_v1(line: &[u8]) -> Option<()> {
    let line = line.strip_prefix(V1_SIGNATURE)?.strip_suffix(b"\r\n")?;
    let mut fields = line.split(|&byte| byte == b' ');
    let is_port = |field: &[u8]| match field {
        [first, rest @ ..] => field.iter().all(u8::is_ascii_digit) && (*first != b'0' || rest.is_empty()),
        [] => false,
    };
    match fields.next()? {
        b"UNKNOWN" => Some(()),
        b"TCP4" | b"TCP6" => fields.skip(2).all(is_port).then_some(()),
        _ => None,
    }
}

const V1_SIGNATURE: &[u8] = b"PROXY ";
const V2_SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const V2_COMMAND_AT: usize = V2_SIGNATURE.len();
const V2_LENGTH_AT: usize = V2_COMMAND_AT + 2;
/// Where the addresses of version 2 begin.
const V2_BEGIN: usize = V2_LENGTH_AT + 2;
/// Version 2, command `LOCAL`.
const V2_LOCAL: u8 = 0x20;
