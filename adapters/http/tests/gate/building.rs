//! Building a gate, and what it prints.

use tollgate_http::{Gate, GateError, Keyer, Nanos, Quota};

use crate::support::{SECRET, decide, five};

#[test]
fn every_mistake_is_told_with_advice() {
    let gate = || Gate::builder(Quota::per_minute(300));
    let long = "x".repeat(129);
    let mistakes = [
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

/// What responses say describes a fixed window, so no gate is built for another kind of quota.
#[test]
fn other_kinds_of_quota_are_refused_with_advice() {
    let minute = Nanos::from_secs(60);
    for quota in
        [Quota::per_minute(5).sliding(), Quota::per_minute(5).burst(2), Quota::at_most(5).in_any(minute)]
    {
        let error = Gate::builder(quota).build().unwrap_err();
        assert_eq!(error, GateError::QuotaKind);
        assert!(error.to_string().contains("use Quota::per_minute"), "{error}");
    }
}
