//! Callers behind proxies.

use tollgate_http::{Gate, GateBuilder, Mode, Quota, Source};

use crate::support::SECRET;

fn five() -> GateBuilder {
    Gate::builder(Quota::per_minute(5)).service("edge", SECRET)
}

fn caller(gate: &Gate, peer: &str, fields: &[(&str, &str)]) -> String {
    gate.decide(Some(peer.parse().unwrap()), fields).unwrap().origin().unwrap().to_string()
}

const ALL: [(&str, &str); 5] = [
    ("X-Forwarded-For", "198.51.100.1"),
    ("Forwarded", "for=198.51.100.2"),
    ("CF-Connecting-IP", "198.51.100.3"),
    ("X_Forwarded_For", "198.51.100.4"),
    ("X-Real-IP", "198.51.100.5"),
];

#[test]
fn only_the_chosen_field_is_looked_at() {
    let behind = |source| five().source(source).trust_network("10.0.0.0/8").build().unwrap();
    for (source, expected) in [
        (Source::XForwardedFor, "198.51.100.1/32"),
        (Source::Forwarded, "198.51.100.2/32"),
        (Source::header("CF-Connecting-IP"), "198.51.100.3/32"),
        (Source::Header("X-Real-IP".into()), "198.51.100.5/32"),
    ] {
        let gate = behind(source);
        assert_eq!(caller(&gate, "10.0.0.1", &ALL), expected);
        assert_eq!(caller(&gate, "203.0.113.7", &ALL), "203.0.113.7/32", "nobody else is believed");
    }
    assert_eq!(caller(&five().build().unwrap(), "10.0.0.1", &ALL), "10.0.0.1/32");
}

// Abuse 1: the leftmost element is the client's own.
#[test]
fn rotating_what_a_client_can_write_stays_in_one_budget() {
    for source in [Source::XForwardedFor, Source::Forwarded] {
        let gate = five().source(source.clone()).trust_network("10.0.0.0/8").build().unwrap();
        let passed = (0..1000).filter(|n| {
            let made_up = format!("6.6.{}.{}", n / 250, n % 250);
            let (name, value) = match source {
                Source::Forwarded => ("forwarded", format!("for={made_up}, for=198.51.100.1")),
                _ => ("x-forwarded-for", format!("{made_up}, 198.51.100.1")),
            };
            gate.decide("10.0.0.1".parse().ok(), &[(name, value)]).unwrap().passes()
        });
        assert_eq!(passed.count(), 5);
    }
}

#[test]
fn prefixes_are_the_gate_s() {
    let gate = five().v4_prefix(24).v6_prefix(48).build().unwrap();
    assert_eq!(caller(&gate, "203.0.113.7", &[]), "203.0.113.0/24");
    assert_eq!(caller(&gate, "::ffff:203.0.113.7", &[]), "203.0.113.0/24");
    assert_eq!(caller(&gate, "2001:db8:1:2:3::4", &[]), "2001:db8:1::/48");
    let passed = (0..100).filter(|n| {
        let peer = std::net::IpAddr::from([203, 0, 113, *n]);
        gate.decide(Some(peer), &()).unwrap().passes()
    });
    assert_eq!(passed.count(), 3, "two of the five were used above, one by the mapped form");
}

#[test]
fn exempt_callers_and_mode_off_are_told_apart_as_well() {
    let gate = |mode| five().source(Source::XForwardedFor).trust_hops(1).mode(mode).build().unwrap();
    let secret = std::str::from_utf8(SECRET).unwrap();
    for mode in [Mode::Enforce, Mode::Shadow, Mode::Off] {
        let gate = gate(mode);
        let fields = [("x-internal-token", secret), ("x-forwarded-for", "198.51.100.1")];
        assert_eq!(caller(&gate, "10.0.0.1", &fields), "198.51.100.1/32");
        assert_eq!(caller(&gate, "10.0.0.1", &fields[1..]), "198.51.100.1/32");
    }
}
