//! Building a gate, and what it prints.

use std::time::Duration;

use tollgate_http::{Gate, Keyer, Nanos, Policy, Quota, Source};

use crate::support::{SECRET, decide, five};

#[test]
fn every_mistake_is_told_with_advice() {
    let gate = || Gate::builder(Quota::per_minute(300));
    let behind = || gate().source(Source::XForwardedFor);
    let wide = |name: &str| Policy::new(name, Quota::per_minute(3000)).v4_prefix(24).v6_prefix(48);
    let long = "x".repeat(129);
    let mistakes = vec![
        (Gate::builder(Quota::per_minute(0)), "use at least 1"),
        (Gate::builder(Quota::new(1, Nanos::ZERO)), "use at least 2,048 ns"),
        (Gate::builder(Quota::new(1, Nanos::MAX)), "use at most 2^62 ns"),
        (Gate::builder(Quota::per_minute(u32::MAX)), "use at most"),
        (gate().capacity(0), "use twice the number of callers"),
        (gate().capacity(usize::MAX), "use twice the number of callers"),
        (gate().service("edge", ""), "set it, or leave the service out"),
        (gate().service("edge", "short"), "use at least 16"),
        (gate().service("edge", &long), "use at most 128"),
        (gate().service("edge", "a secret from a file\n"), "trim it"),
        (gate().service("edge", "a secret with a \0 in it"), "use printable ones"),
        (gate().service("edge", SECRET).service("other", SECRET), "give each service a secret of its own"),
        (gate().service("", SECRET), "must have 1 to 32 bytes"),
        (
            (0..17).fold(gate(), |gate, n| gate.service("edge", format!("secret number {n:05}"))),
            "drop a retired secret",
        ),
        (gate().credential_header(""), "use a name of letters, digits and hyphens"),
        (gate().credential_header("x token"), "use a name of letters, digits and hyphens"),
        (gate().credential_header("h".repeat(65)), "at most 64"),
        (gate().policy_name("with \"quotes\""), "use 1 to 32 printable ASCII characters"),
        (gate().policy_name(""), "use 1 to 32 printable ASCII characters"),
        (gate().policy(wide("default")), "give each a name of its own"),
        (gate().policy(wide("\"")), "use 1 to 32 printable ASCII characters"),
        (["a", "b", "c", "d"].into_iter().fold(gate(), |gate, name| gate.policy(wide(name))), "room for 4"),
        (gate().policy(wide("wide").v4_prefix(7)), "use a prefix of 8 to 32 bits"),
        (gate().policy(Policy::new("wide", Quota::per_minute(0))), "use at least 1"),
        (gate().policy(Policy::new("all", Quota::per_minute(0)).for_everyone()), "use at least 1"),
        (gate().class("default", Quota::per_minute(1)), "give each a name of its own"),
        (gate().policy(wide("in-flight")), "give each a name of its own"),
        (gate().class("paid", Quota::per_minute(0)), "the policy \"paid\": "),
        ((0..17).fold(gate(), |gate, n| gate.class(n.to_string(), Quota::per_minute(1))), "room for 16"),
        (gate().in_flight(0), "the limit of requests under way: "),
        (gate().penalty(0, Duration::from_secs(1), Duration::from_secs(1)), "the penalty: "),
        (gate().service("edge", "a secret with spaces in it").bearer(), "letters, digits and"),
        (gate().v4_prefix(33), "use a prefix of 8 to 32 bits"),
        (gate().v6_prefix(31), "use a prefix of 32 to 128 bits"),
        (gate().source(Source::XForwardedFor), "trust the networks of your proxies"),
        (gate().trust_network("10.0.0.0/8"), "choose the one that they set"),
        (behind().trust_hops(1).trust_network("10.0.0.0/8"), "choose one of them"),
        (behind().trust_hops(0), "use 1 to 32"),
        (behind().trust_hops(33), "use 1 to 32"),
        (behind().trust_network("10.0.0.1/8"), "write 10.0.0.0/8 for the network"),
        (behind().trust_network("::ffff:10.0.0.0/8"), "write the IPv4 network itself, probably 10.0.0.0/8"),
        (behind().trust_network("the proxy"), "\"the proxy\": this is no network"),
        (
            (0..129).fold(behind(), |gate, n| gate.trust_network(format!("10.0.{n}.0/24"))),
            "more than 128 trusted networks",
        ),
        (gate().source(Source::header("x real ip")).trust_hops(1), "use a header's name"),
    ];
    for (builder, advice) in mistakes {
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains(advice), "{error:?} does not say {advice:?}");
    }
}

// Abuse 27: secrets are never printed.
#[test]
fn secrets_are_never_printed() {
    let secret = std::str::from_utf8(SECRET).unwrap();
    let builder = five().0;
    let twice = five().0.service("other", SECRET).build().unwrap_err();
    let before = format!("{builder:?} {twice:?} {twice}");
    let gate = builder.keyer(Keyer::new(*b"a seed to be hid")).build().unwrap();
    let decision = decide(&gate, [SECRET]);
    let printed = format!("{before} {gate:?} {decision:?} {:?}", gate.unauthorized());
    assert!(!printed.contains(secret) && !printed.contains("a seed to be hid"), "{printed}");
    assert!(printed.contains("edge"));
}
