//! `Origins` against the oracle, and what whoever is left of the first untrusted hop can't change.

use std::net::IpAddr;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate::{Origin, Origins, Prefixes, Source, TrustedNetwork};

use crate::oracle::{self, Syntax};

const TRUSTED: &str = "10.0.0.0/8";
const TRUSTED_V6: &str = "2001:db8:ffff::/48";
const PROXY: &str = "10.0.0.1";

fn networks(source: Source) -> Origins {
    Origins::from_source(source)
        .trust_network(TRUSTED.parse().unwrap())
        .trust_network(TRUSTED_V6.parse().unwrap())
        .build()
        .unwrap()
}

fn hops(source: Source, hops: u8) -> Origins {
    Origins::from_source(source).trust_hops(hops).build().unwrap()
}

fn found(origins: &Origins, peer: IpAddr, lines: &[Vec<u8>]) -> IpAddr {
    origins.origin(peer, lines.iter().map(Vec::as_slice)).address()
}

fn address() -> impl Strategy<Value = IpAddr> {
    let some =
        vec!["10.0.0.1", "10.9.8.7", "198.51.100.1", "2001:db8:ffff::2", "2001:db8::3", "::ffff:10.0.0.4"];
    prop_oneof![4 => select(some).prop_map(|text| text.parse().unwrap()), 1 => any::<IpAddr>()]
}

/// The bytes without the bits after the first `prefix`.
fn cut<const N: usize>(mut bytes: [u8; N], prefix: u8) -> [u8; N] {
    for bit in usize::from(prefix)..N * 8 {
        bytes[bit / 8] &= !(0x80 >> (bit % 8));
    }
    bytes
}

/// Pieces from which chains, and what is almost one, are made.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let marks = vec![
        ",",
        ", ",
        ";",
        "=",
        "\"",
        "\\",
        "\\\"",
        "\\\\",
        " ",
        "\t",
        "for=",
        "FOR=\"",
        "\"[",
        "]\"",
        "[",
        "]",
        ":80",
        "%eth0",
        "host=\"a, b\"",
        "host=\"a\\\",b\"",
        "proto=https;",
        "unknown",
        "_hidden",
        "\0",
        "for=10.0.0.2",
        "for=\"[2001:db8:ffff::2]:80\"",
        ", for=198.51.100.1",
        "for=\"10.0.0\\.3\"",
        ":99999",
    ];
    prop_oneof![
        6 => select(marks).prop_map(|text| text.as_bytes().to_vec()),
        5 => address().prop_map(|address| address.to_string().into_bytes()),
        1 => vec(any::<u8>(), 0..4),
    ]
}

fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(piece(), 0..12).prop_map(|pieces| pieces.concat()), 0..4)
}

/// Mostly lists as they should be, of more than 32 elements at times.
fn chain(forwarded: bool) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let element = prop_oneof![
        12 => select(&["10.0.0.1", "10.9.8.7", "[2001:db8:ffff::2]:80", "[2001:db8:ffff::3]"][..]),
        2 => select(&["198.51.100.1:4711", "[2001:db8::3]"][..]),
        1 => select(&["", " ", "unknown"][..]),
    ];
    vec(vec(element, 0..24), 0..4).prop_map(move |lines| {
        let element = |text: &&str| match text.trim() {
            "" => (*text).to_owned(),
            text if forwarded => format!("host=\"a,b\\\"\";for=\"{text}\" ; by=x:1"),
            text => text.to_owned(),
        };
        let line = |line: Vec<&str>| line.iter().map(element).collect::<Vec<_>>().join(", ").into_bytes();
        lines.into_iter().map(line).collect()
    })
}

const SOURCES: [(Source, Syntax); 3] = [
    (Source::XForwardedFor, Syntax::XForwardedFor),
    (Source::Forwarded, Syntax::Forwarded),
    (Source::Header, Syntax::Header),
];

fn agrees(peer: IpAddr, lines: &[Vec<u8>], count: u8) -> Result<(), TestCaseError> {
    let trusted: Vec<TrustedNetwork> = [TRUSTED, TRUSTED_V6].map(|text| text.parse().unwrap()).to_vec();
    for (source, syntax) in SOURCES {
        let by_network = |_, hop| trusted.iter().any(|network| network.network().contains(&hop));
        let expected = oracle::caller(syntax, by_network, peer, lines);
        prop_assert_eq!(found(&networks(source), peer, lines), expected, "{:?}", source);
        let by_number = |hop, _| hop <= usize::from(count);
        let expected = oracle::caller(syntax, by_number, peer, lines);
        prop_assert_eq!(found(&hops(source, count), peer, lines), expected, "{:?}, {} hops", source, count);
        let known =
            oracle::elements(syntax, lines).into_iter().flatten().chain([peer]).map(oracle::canonical);
        prop_assert!(known.collect::<Vec<_>>().contains(&expected), "neither the peer nor an element");
    }
    prop_assert_eq!(found(&Origins::peer(), peer, lines), oracle::canonical(peer));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

    #[test]
    fn agrees_with_the_oracle_on_pieces(peer in address(), lines in lines(), count in 1_u8..=32) {
        agrees(peer, &lines, count)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn agrees_with_the_oracle_on_lists(lines in chain(false), count in 1_u8..=32) {
        agrees(PROXY.parse().unwrap(), &lines, count)?;
    }

    #[test]
    fn agrees_with_the_oracle_on_lists_of_rfc_7239(lines in chain(true), count in 1_u8..=32) {
        agrees(PROXY.parse().unwrap(), &lines, count)?;
    }

    #[test]
    fn a_network_is_the_address_cut_bit_by_bit(peer in address(), v4 in 8_u8..=32, v6 in 32_u8..=128) {
        let origin = Origin::peer(peer).at(Prefixes::new(v4, v6).unwrap());
        let address = oracle::canonical(peer);
        let (network, prefix) = match address {
            IpAddr::V4(address) => (cut(address.octets(), v4).into(), v4),
            IpAddr::V6(address) => (cut(address.octets(), v6).into(), v6),
        };
        prop_assert_eq!((origin.address(), origin.network(), origin.prefix()), (address, network, prefix));
        prop_assert_eq!(format!("{origin:?}"), format!("Origin({address} of /{prefix})"));
    }

    #[test]
    fn no_bytes_panic(peer: IpAddr, lines in vec(vec(any::<u8>(), 0..300), 0..6), count in 1_u8..=32) {
        agrees(peer, &lines, count)?;
    }

    // Abuse 1 and 9: what a caller sends is left of what the first proxy appends.
    #[test]
    fn nothing_left_of_the_caller_s_own_element_changes_the_answer(
        left in prop_oneof![lines(), vec(vec(any::<u8>(), 0..60), 0..4)],
        same_line: bool,
        caller in select(&["198.51.100.1", "203.0.113.9", "2001:db8:1::7"][..]),
        proxies in vec(select(&["10.0.0.2", "10.77.0.3:80", "[2001:db8:ffff::9]"][..]), 0..6),
        host in vec(any::<u8>(), 0..20),
    ) {
        let caller: IpAddr = caller.parse().unwrap();
        let peer = PROXY.parse().unwrap();
        let bracketed = if caller.is_ipv6() { format!("[{caller}]") } else { caller.to_string() };
        let appended = [&[bracketed.as_str()], proxies.as_slice()].concat();
        let host: Vec<u8> =
            host.into_iter().flat_map(|byte| if b"\"\\".contains(&byte) { vec![b'\\', byte] } else { vec![byte] }).collect();
        let by_number = u8::try_from(proxies.len() + 1).unwrap();
        for source in [Source::XForwardedFor, Source::Forwarded] {
            let mut lines = left.clone();
            for (index, address) in appended.iter().enumerate() {
                let element = match source {
                    Source::Forwarded => {
                        [b"host=\"", host.as_slice(), b"\";for=\"", address.as_bytes(), b"\""].concat()
                    }
                    _ => address.as_bytes().to_vec(),
                };
                match lines.last_mut() {
                    Some(line) if same_line || index > 0 => {
                        line.extend_from_slice(b", ");
                        line.extend(element);
                    }
                    _ => lines.push(element),
                }
            }
            prop_assert_eq!(found(&networks(source), peer, &lines), caller, "{:?}", source);
            prop_assert_eq!(found(&hops(source, by_number), peer, &lines), caller, "{:?}", source);
        }
    }
}
