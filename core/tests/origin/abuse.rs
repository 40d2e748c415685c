//! How callers elsewhere got budgets that were not theirs.

use std::collections::HashSet;
use std::net::IpAddr;

use tollgate::{Origins, Source};

const SOURCES: [Source; 3] = [Source::XForwardedFor, Source::Forwarded, Source::Header];

fn behind(source: Source) -> Origins {
    Origins::from_source(source).trust_network("10.0.0.0/8".parse().unwrap()).build().unwrap()
}

fn proxy() -> IpAddr {
    "10.0.0.1".parse().unwrap()
}

// Abuse 1.
#[test]
fn a_caller_that_rotates_what_it_sends_has_one_budget() {
    let origins = behind(Source::XForwardedFor);
    let budgets: HashSet<_> = (0..1_000_u32)
        .map(|turn| {
            let forged = IpAddr::from((0x0a00_0000 + turn * 7919).to_be_bytes());
            let sent = format!("{forged}, 1.1.1.{}, 198.51.100.1", turn % 256);
            origins.origin(proxy(), [sent.as_bytes()]).network()
        })
        .collect();
    assert_eq!(budgets, HashSet::from(["198.51.100.1".parse().unwrap()]));
}

// Abuse 7.
#[test]
fn a_line_of_the_proxy_s_own_counts_and_not_the_caller_s() {
    let origins = behind(Source::XForwardedFor);
    let found = origins.origin(proxy(), [&b"1.1.1.1"[..], b"2.2.2.2", b"198.51.100.1"]);
    assert_eq!(found.to_string(), "198.51.100.1/32");
    let found = behind(Source::Header).origin(proxy(), [&b"198.51.100.1"[..], b"198.51.100.1"]);
    assert_eq!(found.address(), proxy());
}

// Abuse 10 and 11: the proxy's own budget, which is one budget, is all that garbage buys, from whatever address.
#[test]
fn garbage_and_silence_share_the_budget_of_the_hop_that_passed_them_on() {
    let garbage: [&[u8]; 12] = [
        b"",
        b" ",
        b",",
        b";",
        b"unknown",
        b"_hidden",
        b"for=",
        b"for=unknown",
        b"\"",
        b"\\",
        b"\0",
        b"198.51.100.1, x",
    ];
    for source in SOURCES {
        let origins = behind(source);
        assert_eq!(origins.origin(proxy(), []).address(), proxy());
        for line in garbage {
            assert_eq!(origins.origin(proxy(), [line]).address(), proxy(), "{source:?} {line:?}");
            let stranger = "203.0.113.7".parse().unwrap();
            assert_eq!(origins.origin(stranger, [line]).address(), stranger);
        }
    }
}

#[test]
fn whoever_is_not_trusted_is_not_believed() {
    for source in SOURCES {
        for line in [&b"198.51.100.1"[..], b"for=198.51.100.1", b"10.0.0.1", b"for=10.0.0.1"] {
            for stranger in
                ["203.0.113.7", "11.0.0.1", "64:ff9b::10.0.0.1", "::10.0.0.1", "2001:db8::10.0.0.1"]
            {
                let stranger = stranger.parse().unwrap();
                assert_eq!(behind(source).origin(stranger, [line]).address(), stranger, "{source:?}");
            }
        }
    }
}
