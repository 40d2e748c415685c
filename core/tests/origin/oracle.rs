//! The rules of `Origins`, slowly: all elements are collected from the text, then walked. Shared with the fuzz target.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The caller's canonical address; `trusted` answers for the hop of a number, the peer being hop 1, and its address.
pub(crate) fn caller(
    syntax: Syntax,
    trusted: impl Fn(usize, IpAddr) -> bool,
    peer: IpAddr,
    lines: &[Vec<u8>],
) -> IpAddr {
    let mut caller = canonical(peer);
    for (index, element) in elements(syntax, lines).into_iter().enumerate() {
        if !trusted(index + 1, caller) {
            break;
        }
        let Some(address) = element else { break };
        caller = canonical(address);
    }
    caller
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Syntax {
    XForwardedFor,
    Forwarded,
    Header,
}

/// The last element first.
pub(crate) fn elements(syntax: Syntax, lines: &[Vec<u8>]) -> Vec<Option<IpAddr>> {
    let mut texts: Vec<Vec<u8>> = match syntax {
        Syntax::XForwardedFor => {
            lines.join(&b","[..]).split(|&byte| byte == b',').map(<[u8]>::to_vec).collect()
        }
        Syntax::Forwarded => lines.iter().flat_map(|line| forwarded_elements(line)).collect(),
        Syntax::Header if lines.len() == 1 => return vec![address(trim(&lines[0]))],
        Syntax::Header => Vec::new(),
    };
    texts.reverse();
    texts.truncate(32);
    let texts = texts.iter().map(|text| trim(text)).filter(|text| !text.is_empty());
    match syntax {
        Syntax::Forwarded => texts.map(forwarded_address).collect(),
        _ => texts.map(address).collect(),
    }
}

/// The last element is the shortest end of the line, from a comma on, that is well-formed; so is the one before it. What
/// has no such end is one element, and it is none.
fn forwarded_elements(line: &[u8]) -> Vec<Vec<u8>> {
    let commas = line.iter().enumerate().filter(|&(_, &byte)| byte == b',').map(|(at, _)| at + 1);
    let starts: Vec<usize> = std::iter::once(0).chain(commas).collect();
    let (mut found, mut end) = (Vec::new(), line.len());
    loop {
        let mut left = starts.iter().rev().filter(|&&start| start <= end);
        match left.find(|&&start| pairs(&line[start..end]).is_some()) {
            None => {
                found.push(b"garbage".to_vec());
                break;
            }
            Some(&start) => {
                found.push(line[start..end].to_vec());
                if start == 0 {
                    break;
                }
                end = start - 1;
            }
        }
    }
    found.reverse();
    found
}

fn forwarded_address(element: &[u8]) -> Option<IpAddr> {
    let mut values = pairs(element)?.into_iter().filter(|pair| pair.name.eq_ignore_ascii_case("for"));
    let (Some(pair), None) = (values.next(), values.next()) else { return None };
    let address = address(&pair.value)?;
    let dotted = pair.value.contains(&b'.') && !pair.value.contains(&b':');
    let in_brackets = pair.value.first() == Some(&b'[');
    let allowed = if pair.quoted { address.is_ipv4() && !is_v6(&pair.value) || in_brackets } else { dotted };
    if allowed { Some(address) } else { None }
}

fn is_v6(text: &[u8]) -> bool {
    text.split(|&byte| byte == b':').count() > 2
}

#[derive(Default)]
struct Pair {
    name: String,
    quoted: bool,
    value: Vec<u8>,
}

/// The pairs of a well-formed element, its strings without their escapes.
fn pairs(element: &[u8]) -> Option<Vec<Pair>> {
    #[derive(Clone, Copy)]
    enum State {
        Begin,
        Name,
        Value,
        Unquoted,
        Quoted,
        Escaped,
        End,
    }
    let mut found: Vec<Pair> = Vec::new();
    let mut state = State::Begin;
    for &byte in element {
        let token = byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        state = match (state, byte) {
            (State::Begin | State::End, b' ' | b'\t') => state,
            (State::Begin | State::Value | State::Unquoted | State::End, b';') => State::Begin,
            (State::Begin, _) if token => {
                found.push(Pair { name: char::from(byte).into(), ..Pair::default() });
                State::Name
            }
            (State::Name, b'=') => State::Value,
            (State::Name, _) if token => {
                found.last_mut()?.name.push(byte.into());
                state
            }
            (State::Value | State::Unquoted, b' ' | b'\t') | (State::Quoted, b'"') => State::End,
            (State::Value, b'"') => {
                found.last_mut()?.quoted = true;
                State::Quoted
            }
            (State::Value | State::Unquoted, b',' | b'"' | b'\\') => return None,
            (State::Quoted, b'\\') => State::Escaped,
            (State::Value | State::Unquoted | State::Quoted | State::Escaped, _) => {
                found.last_mut()?.value.push(byte);
                match state {
                    State::Value | State::Unquoted => State::Unquoted,
                    _ => State::Quoted,
                }
            }
            _ => return None,
        };
    }
    match state {
        State::Begin | State::Value | State::Unquoted | State::End => Some(found),
        State::Name | State::Quoted | State::Escaped => None,
    }
}

/// What the standard library reads, after the zone is cut out of it.
fn address(text: &[u8]) -> Option<IpAddr> {
    let mut text = String::from_utf8(text.to_vec()).ok()?;
    if text.len() > 128 {
        return None;
    }
    if let Some(percent) = text.find('%') {
        let end = text.find(']').unwrap_or(text.len());
        let zone = text.get(percent + 1..end)?;
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "-._~".contains(letter);
        let v6 = text[..percent].trim_start_matches('[').parse::<Ipv6Addr>().is_ok();
        if zone.is_empty() || !zone.chars().all(letter) || !v6 {
            return None;
        }
        text.replace_range(percent..end, "");
    }
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    if let Some(address) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let short_port = text.rsplit(':').next().is_some_and(|port| port.len() <= 5);
    text.parse::<SocketAddr>().ok().filter(|_| short_port).map(|socket| socket.ip())
}

fn trim(text: &[u8]) -> &[u8] {
    let inside = |byte: &u8| !b" \t".contains(byte);
    let start = text.iter().position(inside).unwrap_or(text.len());
    let end = text.iter().rposition(inside).map_or(start, |last| last + 1);
    &text[start..end]
}

/// By arithmetic on the 128 bits.
pub(crate) fn canonical(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let v4 = Ipv4Addr::from_bits((v6.to_bits() & 0xffff_ffff) as u32);
    let neighbour =
        matches!(v4.octets(), [10 | 127, ..] | [192, 168, ..] | [169, 254, ..] | [172, 16..=31, ..]);
    match v6.to_bits() >> 32 {
        0xffff => v4.into(),
        0x0064_ff9b_0000_0000_0000_0000 if !neighbour => v4.into(),
        _ => address,
    }
}
