//! One host is one caller, however it is written; two hosts are two.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use tollgate::{Origin, Origins, Prefixes, Source};

fn origins() -> Origins {
    Origins::from_source(Source::XForwardedFor).trust_hops(1).v4_prefix(24).v6_prefix(48).build().unwrap()
}

fn as_element(text: &str) -> Origin {
    origins().origin(IpAddr::V4(Ipv4Addr::LOCALHOST), [text.as_bytes()])
}

fn as_peer(text: &str) -> Origin {
    origins().origin(text.parse().unwrap(), [])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    // Abuse 3 and 4.
    #[test]
    fn an_ipv4_host_is_one_caller(v4: Ipv4Addr, port: u16) {
        let expected = Origin::peer(v4.into()).at(Prefixes::new(24, 48).unwrap());
        prop_assert_eq!(expected.network(), IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & 0xffff_ff00)));
        prop_assert_eq!(expected.prefix(), 24);
        let [a, b, c, d] = v4.octets();
        let hex = format!("{a:02X}{b:02x}:{c:02x}{d:02x}");
        let mut notations = vec![format!("{v4}"), format!("::ffff:{v4}"), format!("0:0:0:0:0:FFFF:{hex}")];
        if !(v4.is_private() || v4.is_loopback() || v4.is_link_local()) {
            notations.extend([format!("64:ff9b::{v4}"), format!("0064:FF9B::{hex}")]);
        }
        for text in notations {
            prop_assert_eq!(as_peer(&text), expected, "{}", text);
            prop_assert_eq!(as_element(&text), expected, "{}", text);
            let with_port =
                if text.contains(':') { format!("[{text}]:{port}") } else { format!("{text}:{port}") };
            prop_assert_eq!(as_element(&with_port), expected, "{}", with_port);
        }
        prop_assert_ne!(as_element(&format!("2001:db8::{v4}")).network(), expected.network());
    }

    #[test]
    fn an_ipv6_host_is_one_caller(high in 0x2000_u16..0x4000, low: [u16; 7], zone in "[a-z0-9]{1,15}", port: u16) {
        let [b, c, d, e, f, g, h] = low;
        let v6 = Ipv6Addr::new(high, b, c, d, e, f, g, h);
        let expected = Origin::peer(v6.into()).at(Prefixes::new(24, 48).unwrap());
        prop_assert_eq!(expected.network(), IpAddr::V6(Ipv6Addr::new(high, b, c, 0, 0, 0, 0, 0)));
        prop_assert_eq!(expected.prefix(), 48);
        let long = format!("{high:04X}:{b:04x}:{c:04x}:{d:04x}:{e:04x}:{f:04x}:{g:04x}:{h:04X}");
        let dotted = format!("{high:x}:{b:x}:{c:x}:{d:x}:{e:x}:{f:x}:{}", Ipv4Addr::from_bits(u32::from(g) << 16 | u32::from(h)));
        for text in [v6.to_string(), long, dotted] {
            prop_assert_eq!(as_peer(&text), expected, "{}", text);
            for element in [
                text.clone(), format!("{text}%{zone}"), format!("[{text}]"), format!("[{text}]:{port}"),
                format!("[{text}%{zone}]:{port}"), format!("\t {text} "),
            ] {
                prop_assert_eq!(as_element(&element), expected, "{}", element);
            }
        }
    }

    #[test]
    fn hosts_share_a_budget_if_their_prefix_is_the_same(a: u128, flip in 0_u32..128, v6 in 32_u8..=128) {
        let at = Prefixes::new(32, v6).unwrap();
        let network = |bits| Origin::peer(IpAddr::V6(Ipv6Addr::from_bits(bits | 1 << 125))).at(at).network();
        let differ = flip < u32::from(v6) && flip != 2;
        prop_assert_eq!(network(a) != network(a ^ 1 << (127 - flip)), differ);
    }

    #[test]
    fn so_do_those_of_ipv4(a: u32, flip in 0_u32..32, v4 in 8_u8..=32) {
        let at = Prefixes::new(v4, 64).unwrap();
        let network = |bits| Origin::peer(IpAddr::V4(Ipv4Addr::from_bits(bits))).at(at).network();
        prop_assert_eq!(network(a) != network(a ^ 1 << (31 - flip)), flip < u32::from(v4));
    }
}

#[test]
fn one_request_has_a_network_of_each_size() {
    let caller = as_peer("2001:db8:1:2:3:4:5:6");
    assert_eq!(caller.to_string(), "2001:db8:1::/48");
    assert_eq!(caller.at(Prefixes::DEFAULT).to_string(), "2001:db8:1:2::/64");
    assert_eq!(caller.at(Prefixes::DEFAULT), Origin::peer(caller.address()));
    assert_eq!(caller.at(Prefixes::new(8, 128).unwrap()).network(), caller.address());
    let v4 = as_peer("203.0.113.7");
    assert_eq!(v4.to_string(), "203.0.113.0/24");
    assert_eq!(v4.at(Prefixes::new(8, 32).unwrap()).to_string(), "203.0.0.0/8");
}
