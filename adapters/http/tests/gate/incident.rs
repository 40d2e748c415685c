//! The three tests of the incident.

use std::time::Duration;

use tollgate_http::Nanos;

use crate::support::{FORGED, SECRET, decide, five, lines, passes};

#[test]
fn internal_requests_are_never_counted() {
    let gate = five().0.build().unwrap();
    assert_eq!(passes(&gate, [SECRET], 20), 20);
    assert_eq!(passes(&gate, [], 20), 5);
    assert_eq!(passes(&gate, [SECRET], 20), 20);
}

#[test]
fn plain_requests_pass_five_times_and_again_after_the_window() {
    let (gate, clock) = five();
    let gate = gate.build().unwrap();
    assert_eq!(passes(&gate, [], 20), 5);
    let Some(refusal) = decide(&gate, []).refusal() else { panic!("the limit is used up") };
    clock.advance(refusal.retry_after.saturating_sub(Nanos(1)).into());
    assert_eq!(passes(&gate, [], 20), 0);
    clock.advance(Duration::from_nanos(1));
    assert_eq!(passes(&gate, [], 20), 5);
}

#[test]
fn forged_tokens_are_limited_like_anybody() {
    let gate = five().0.build().unwrap();
    let tokens: Vec<_> = (0..20).map(|number| format!("made-up token number {number}")).collect();
    let passed = tokens.iter().filter(|token| decide(&gate, [token.as_bytes()]).passes()).count();
    assert_eq!(passed, 5);
    // Abuse 35: they used the budget of the address, not budgets of their own.
    assert_eq!(passes(&gate, [], 5), 0);
    assert_eq!(gate.internal(None, &lines(&gate, [FORGED])[..]), None);
    assert_eq!(gate.unauthorized().status(), 401);
}
