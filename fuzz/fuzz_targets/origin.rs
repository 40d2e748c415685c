//! Forwarded chains against the slow oracle of the core's tests: the same caller, and it is the peer or an element; what
//! is put to the left of an element that is not trusted changes nothing.
#![no_main]

use std::net::IpAddr;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tollgate::{Origins, Source, TrustedNetwork};

use oracle::Syntax;

#[path = "../../core/tests/origin/oracle.rs"]
mod oracle;

#[derive(Arbitrary, Debug)]
struct Input {
    peer: Address,
    /// Trusted by their number if there is one, else by their networks.
    hops: Option<u8>,
    chain: Vec<Piece>,
    /// What a caller sends before the first proxy appends to it.
    left: Vec<Piece>,
    host: Vec<u8>,
}

#[derive(Arbitrary, Debug)]
enum Address {
    Proxy(u8),
    Any(IpAddr),
}

#[derive(Arbitrary, Debug)]
enum Piece {
    Mark(u8),
    Address(Address),
    Bytes(Vec<u8>),
    /// What a proxy appends to `Forwarded`.
    Element(Address),
    EndOfLine,
}

const MARKS: [&[u8]; 20] = [
    b",",
    b", ",
    b";",
    b"=",
    b"\"",
    b"\\",
    b"\\\"",
    b"\\\\",
    b" ",
    b"\t",
    b"for=",
    b"FOR=\"",
    b"\"[",
    b"]\"",
    b"[",
    b"]",
    b":80",
    b"%eth0",
    b"host=\"a, b\\\"\"",
    b"unknown",
];
const SOURCES: [(Source, Syntax); 3] = [
    (Source::XForwardedFor, Syntax::XForwardedFor),
    (Source::Forwarded, Syntax::Forwarded),
    (Source::Header, Syntax::Header),
];

fuzz_target!(|input: Input| {
    let peer = input.peer.address();
    let lines = lines(&input.chain);
    let network: TrustedNetwork = "10.0.0.0/8".parse().expect("a network");
    for (source, syntax) in SOURCES {
        let builder = Origins::<1>::from_source(source);
        let hops = input.hops.map(|hops| hops % 32 + 1);
        let origins = match hops {
            Some(hops) => builder.trust_hops(hops),
            None => builder.trust_network(network),
        };
        let origins = origins.build().expect("a source and trust");
        let trusted = |hop, address: IpAddr| match hops {
            Some(hops) => hop <= usize::from(hops),
            None => network.network().contains(&address),
        };
        let caller = |lines: &[Vec<u8>]| origins.origin(peer, lines.iter().map(Vec::as_slice)).address();
        let found = caller(&lines);
        assert_eq!(found, oracle::caller(syntax, trusted, peer, &lines), "{source:?}");
        let elements = oracle::elements(syntax, &lines).into_iter().flatten();
        assert!(elements.chain([peer]).any(|known| oracle::canonical(known) == found));
    }
    appended(&input);
});

/// A proxy at 10.0.0.1 appends the address of a caller, to the caller's last line or as a line of its own.
fn appended(input: &Input) {
    let mut host = Vec::new();
    for &byte in &input.host {
        host.extend((byte == b'"' || byte == b'\\').then_some(b'\\'));
        host.push(byte);
    }
    for (source, element) in [
        (Source::XForwardedFor, b"198.51.100.1".to_vec()),
        (Source::Forwarded, [b"for=198.51.100.1;host=\"", host.as_slice(), b"\""].concat()),
    ] {
        let origins = Origins::<1>::from_source(source).trust_hops(1).build().expect("a source and trust");
        let mut joined = lines(&input.left);
        let mut own_line = joined.clone();
        own_line.push(element.clone());
        if let Some(last) = joined.last_mut() {
            last.extend([&b", "[..], &element].concat());
        }
        for lines in [own_line, joined] {
            let found = origins.origin(Address::Proxy(1).address(), lines.iter().map(Vec::as_slice));
            let expected = if lines.is_empty() { "10.0.0.1/32" } else { "198.51.100.1/32" };
            assert_eq!(found.to_string(), expected, "{source:?}");
        }
    }
}

impl Address {
    fn address(&self) -> IpAddr {
        match *self {
            Self::Proxy(host) => [10, 0, 0, host].into(),
            Self::Any(address) => address,
        }
    }
}

fn lines(pieces: &[Piece]) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    for piece in pieces {
        if lines.is_empty() {
            lines.push(Vec::new());
        }
        let line: &mut Vec<u8> = lines.last_mut().expect("a line");
        match piece {
            Piece::Mark(mark) => line.extend(MARKS[usize::from(*mark) % MARKS.len()]),
            Piece::Address(address) => line.extend(address.address().to_string().bytes()),
            Piece::Bytes(bytes) => line.extend(bytes),
            Piece::Element(address) => match address.address() {
                IpAddr::V4(v4) => line.extend(format!(", for={v4}").bytes()),
                IpAddr::V6(v6) => line.extend(format!(", for=\"[{v6}]\"").bytes()),
            },
            Piece::EndOfLine => lines.push(Vec::new()),
        }
    }
    lines
}
