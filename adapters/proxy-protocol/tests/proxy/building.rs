//! Settings that can't work are told when they are made.

use std::time::Duration;

use tollgate_proxy_protocol::{OriginError, ProxyProtocol, ProxyProtocolError};

#[test]
fn somebody_is_trusted() {
    assert_eq!(ProxyProtocol::builder().build().unwrap_err(), ProxyProtocolError::NobodyTrusted);
}

#[test]
fn the_first_network_that_can_not_be_meant_is_told() {
    let builder = ProxyProtocol::builder().trust_network("10.0.0.0/8");
    for (given, told) in [
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("2001:db8::1/64", "2001:db8::/64"),
        ("::ffff:10.0.0.0/8", "10.0.0.0/8"),
        ("ten", "10.0.0.0/8"),
    ] {
        let error = builder.clone().trust_network(given).trust_network("").build().unwrap_err();
        assert!(matches!(&error, ProxyProtocolError::Network { network, .. } if network == given));
        assert!(error.to_string().contains(&format!("{given:?}: ")), "{error}");
        assert!(error.to_string().contains(told), "{error}");
    }
    let error = builder.trust_network("").build().unwrap_err();
    let nothing = ProxyProtocolError::Network { network: String::new(), error: OriginError::NotANetwork };
    assert_eq!(error, nothing);
}

#[test]
fn the_deadline_is_some_time() {
    let builder = ProxyProtocol::builder().trust_network("10.0.0.0/8").deadline(Duration::ZERO);
    assert_eq!(builder.build().unwrap_err(), ProxyProtocolError::NoTime);
}

#[test]
fn every_network_given_is_trusted_and_no_other() {
    let proxies = ProxyProtocol::builder()
        .trust_network("10.0.0.0/8")
        .trust_network("192.0.2.7")
        .trust_network("2001:db8::/32")
        .trust_network("::ffff:172.16.0.0/108")
        .build()
        .unwrap();
    for (peer, trusted) in [
        ("10.255.0.1", true),
        ("11.0.0.0", false),
        ("192.0.2.7", true),
        ("192.0.2.8", false),
        ("172.31.0.1", true),
        ("172.32.0.1", false),
        ("2001:db8:ffff::1", true),
        ("2001:db9::1", false),
        ("::ffff:192.0.2.7", true),
        ("::ffff:192.0.2.8", false),
        ("::10.0.0.1", false),
    ] {
        assert_eq!(proxies.trusts(peer.parse().unwrap()), trusted, "{peer}");
    }
}
