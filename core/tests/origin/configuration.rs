//! What can't be meant is refused when it is configured, with advice.

use tollgate::{IpNet, OriginError, Origins, OriginsBuilder, Prefixes, Source, TrustedNetwork};

fn network(text: &str) -> Result<TrustedNetwork, OriginError> {
    text.parse()
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// The error, and that its message has all of `words`.
fn refused(built: Result<Origins, OriginError>, words: &[&str]) -> OriginError {
    says(built.unwrap_err(), words)
}

fn says(error: OriginError, words: &[&str]) -> OriginError {
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{message:?} lacks {word:?}");
    }
    error
}

fn xff() -> OriginsBuilder<64> {
    Origins::from_source(Source::XForwardedFor)
}

#[test]
fn what_is_no_network() {
    for text in [
        "",
        "/",
        "10.0.0.0/",
        "/8",
        "10.0.0/8",
        "10.0.0.0/33",
        "10.0.0.0/08",
        "10.0.0.0/+8",
        "10.0.0.0/-1",
        "10.0.0.0/8/8",
        "010.0.0.0/8",
        " 10.0.0.0/8",
        "10.0.0.0/8 ",
        "10.0.0.0/255.0.0.0",
        "10.0.0.0/256",
        "2001:db8::/129",
        "[2001:db8::]/32",
        "fe80::%eth0/64",
        "fe80::1%eth0",
        "10.0.0.1:80",
        "localhost",
        "*",
        "hops=1",
    ] {
        assert_eq!(network(text), Err(OriginError::NotANetwork), "{text}");
    }
    says(OriginError::NotANetwork, &["10.0.0.0/8", "one address"]);
}

#[test]
fn an_address_alone_is_a_network_of_one() {
    for (text, is) in [("10.0.0.1", "10.0.0.1/32"), ("::1", "::1/128"), ("::ffff:10.0.0.1", "10.0.0.1/32")] {
        assert_eq!(network(text).unwrap().to_string(), is);
    }
    for text in ["0.0.0.0/0", "::/0", "10.0.0.0/8", "2001:db8::/32", "64:ff9b:1::/48"] {
        assert_eq!(network(text).unwrap().network(), net(text));
        assert_eq!(TrustedNetwork::try_from(net(text)), network(text));
    }
}

#[test]
fn host_bits() {
    for (text, whole, address) in [
        ("10.0.0.1/8", "10.0.0.0/8", "10.0.0.1"),
        ("2001:db8::1/32", "2001:db8::/32", "2001:db8::1"),
        ("::ffff:10.0.0.1/104", "10.0.0.0/8", "10.0.0.1"),
        ("64:ff9b::8.8.8.8/120", "8.8.8.0/24", "8.8.8.8"),
    ] {
        let error = network(text).unwrap_err();
        assert_eq!(error, OriginError::HostBits { given: net(text), network: net(whole) });
        says(error, &[whole, address]);
    }
}

// Abuse 2.
#[test]
fn mapped_networks_are_ipv4_or_refused() {
    for prefix in 0..96 {
        let text = format!("::ffff:10.0.0.0/{prefix}");
        let error = network(&text).unwrap_err();
        let OriginError::Mapped { given, network } = error else { panic!("{text}: {error}") };
        assert_eq!(given, net(&text));
        assert_eq!(network, net(&format!("10.0.0.0/{}", prefix.min(32))).trunc());
    }
    let error = network("::ffff:10.0.0.0/8").unwrap_err();
    assert_eq!(error, OriginError::Mapped { given: net("::ffff:10.0.0.0/8"), network: net("10.0.0.0/8") });
    says(error, &["::ffff:10.0.0.0/8", "probably 10.0.0.0/8"]);
    for (mapped, is) in [
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        ("::ffff:a00:1/128", "10.0.0.1/32"),
    ] {
        assert_eq!(network(mapped).unwrap(), network(is).unwrap());
    }
}

#[test]
fn nat64_networks_are_ipv4_or_refused() {
    assert_eq!(network("64:ff9b::8.8.8.0/120"), network("8.8.8.0/24"));
    assert_eq!(network("64:ff9b::8.8.8.8"), network("8.8.8.8"));
    for text in [
        "64:ff9b::/32",
        "64:ff9b::/64",
        "64:ff9b::/95",
        "64:ff9b::/96",
        "64:ff9b::10.0.0.0/104",
        "64:ff9b::10.1.2.3/128",
        "64:ff9b::127.0.0.1/128",
        "64:ff9b::169.254.0.0/112",
        "64:ff9b::172.16.0.0/108",
        "64:ff9b::172.31.0.0/112",
        "64:ff9b::192.168.0.0/112",
        "64:ff9b::192.0.0.0/104",
        "64:ff9b::8.0.0.0/8",
    ] {
        let error = network(text).unwrap_err();
        assert_eq!(
            says(error, &["64:ff9b::/96", "write the IPv4 network"]),
            OriginError::Nat64 { given: net(text) }
        );
    }
    for text in ["64:ff9b::11.0.0.0/104", "64:ff9b::172.32.0.0/107", "64:ff9b::192.167.0.0/112"] {
        assert!(network(text).unwrap().network().addr().is_ipv4(), "{text}");
    }
}

#[test]
fn members_are_compared_in_canonical_form() {
    let has = |text: &str, address: &str| network(text).unwrap().contains(address.parse().unwrap());
    assert!(has("10.0.0.0/8", "10.255.255.255") && has("10.0.0.0/8", "::ffff:10.0.0.1"));
    assert!(!has("10.0.0.0/8", "11.0.0.0") && !has("10.0.0.0/8", "64:ff9b::10.0.0.1"));
    assert!(has("8.8.8.0/24", "64:ff9b::8.8.8.8"));
    assert!(has("::/0", "2001:db8::1") && has("::/0", "64:ff9b::10.0.0.1"));
    assert!(!has("::/0", "1.2.3.4") && !has("::/0", "::ffff:1.2.3.4") && !has("::/0", "64:ff9b::8.8.8.8"));
    assert!(!has("0.0.0.0/0", "2001:db8::1") && has("0.0.0.0/0", "::ffff:1.2.3.4"));
}

#[test]
fn hops_are_1_to_32() {
    for hops in [0, 33, u8::MAX] {
        assert_eq!(refused(xff().trust_hops(hops).build(), &["1 to 32"]), OriginError::Hops { hops });
    }
    for hops in [1, 32] {
        assert!(xff().trust_hops(hops).build().unwrap().trusts_anybody());
    }
    let both = xff().trust_hops(1).trust_network(network("10.0.0.0/8").unwrap());
    assert_eq!(refused(both.build(), &["choose one"]), OriginError::NetworksAndHops);
}

#[test]
fn a_source_and_trust_need_each_other() {
    for source in [Source::XForwardedFor, Source::Forwarded, Source::Header] {
        let built = Origins::from_source(source).build();
        assert_eq!(refused(built, &["trust the networks"]), OriginError::SourceWithoutTrust);
        assert_eq!(Origins::<64>::from_source(source).trust_hops(1).build().unwrap().source(), source);
    }
    let peer = || Origins::from_source(Source::Peer);
    let built = peer().trust_network(network("10.0.0.0/8").unwrap()).build();
    assert_eq!(refused(built, &["X-Forwarded-For"]), OriginError::TrustWithoutSource);
    assert_eq!(refused(peer().trust_hops(1).build(), &[]), OriginError::TrustWithoutSource);
    let built: Origins = peer().v6_prefix(48).build().unwrap();
    assert!(!built.trusts_anybody() && built.source() == Source::Peer);
}

#[test]
fn prefixes_have_ranges() {
    for prefix in [0, 7, 33] {
        let built = xff().trust_hops(1).v4_prefix(prefix).build();
        assert_eq!(refused(built, &["8 to 32"]), OriginError::V4Prefix { prefix });
    }
    for prefix in [0, 31, 129] {
        let built = xff().trust_hops(1).v6_prefix(prefix).build();
        assert_eq!(refused(built, &["32 to 128"]), OriginError::V6Prefix { prefix });
    }
    let built = xff().trust_hops(1).v4_prefix(8).v6_prefix(128).build().unwrap();
    assert_eq!(built.prefixes(), Prefixes::new(8, 128).unwrap());
    assert_eq!(Origins::<64>::default().prefixes(), Prefixes::DEFAULT);
}

#[test]
fn as_many_networks_as_fit() {
    let builder = |count: u8| {
        (0..count)
            .fold(xff(), |builder, host| builder.trust_network(network(&format!("10.0.0.{host}")).unwrap()))
    };
    let full = builder(64).build().unwrap();
    assert!(full.is_trusted("10.0.0.63".parse().unwrap()) && !full.is_trusted("10.0.0.64".parse().unwrap()));
    assert_eq!(
        refused(builder(65).build(), &["64", "Origins<N>"]),
        OriginError::TooManyNetworks { capacity: 64 }
    );
}

#[test]
fn who_is_trusted() {
    let stranger = "203.0.113.7".parse().unwrap();
    let networks = xff().trust_network(network("10.0.0.0/8").unwrap()).build().unwrap();
    assert!(networks.is_trusted("::ffff:10.1.2.3".parse().unwrap()) && !networks.is_trusted(stranger));
    assert!(xff().trust_hops(1).build().unwrap().is_trusted(stranger));
    assert!(!Origins::<64>::peer().is_trusted(stranger));
}

/// Without a configuration file there is nothing that could fail.
#[test]
fn peers_can_be_callers_in_a_static() {
    static ORIGINS: Origins<0> = Origins::peer();
    assert_eq!(
        ORIGINS.origin("203.0.113.7".parse().unwrap(), [&b"1.1.1.1"[..]]).to_string(),
        "203.0.113.7/32"
    );
}
