//! Costs, callers that are no addresses, scopes and classes.

use tollgate_http::{Decision, Gate, GateBuilder, NoPeer, Policy, Quota, Reason, Terms};

use crate::support::{FORGED, PEER, SECRET, decide, field, five, lines};

fn on(gate: &Gate, terms: Terms<'_>) -> Decision {
    gate.decide_on(terms, Some(PEER), &()).unwrap()
}

/// How many of twenty pass.
fn passes<'g>(gate: &'g Gate, terms: impl Fn(Terms<'g>) -> Terms<'g>) -> usize {
    (0..20).filter(|_| on(gate, terms(gate.terms())).passes()).count()
}

fn built(gate: GateBuilder) -> Gate {
    gate.build().unwrap()
}

#[test]
fn a_request_may_cost_more() {
    let gate = built(five().0);
    assert_eq!(passes(&gate, |terms| terms.cost(2)), 2);
    assert_eq!(passes(&gate, |terms| terms), 1);
    assert_eq!(passes(&gate, |terms| terms.cost(0)), 20);
    let refused = on(&gate, gate.terms().cost(6));
    assert_eq!(refused.refusal().unwrap().reason, Reason::CostAboveLimit);
    let answer = gate.refusal(&refused, &()).unwrap();
    assert!(answer.body().contains("costs more than the limit of 5"), "{}", answer.body());
    assert_eq!(field(&answer, "ratelimit"), r#""default";r=0"#);
    // No wait helps, so none is told.
    assert!(answer.fields().all(|field| field.name != "retry-after"));
}

#[test]
fn skipped_requests_pass_uncounted_with_their_identity() {
    let gate = built(five().0);
    assert_eq!(passes(&gate, Terms::skip), 20);
    assert_eq!(passes(&gate, |terms| terms), 5);
    assert_eq!(passes(&gate, Terms::skip), 20, "whoever is over the limit is skipped too");
    let own = gate.decide_on(gate.terms().skip(), None, &lines(&gate, [SECRET])[..]).unwrap();
    assert_eq!((own.identity().service(), gate.fields(&own)), (Some("edge"), None));
    assert!(!gate.decide_on(gate.terms().skip(), None, &()).unwrap().lacks_peer());
}

#[test]
fn callers_may_be_users() {
    let gate = built(five().0);
    for user in ["one", "another", ""] {
        assert_eq!(passes(&gate, |terms| terms.caller(user)), 5, "{user:?}");
    }
    assert_eq!(passes(&gate, |terms| terms), 5, "nor is any user the address");
    // The address is not needed.
    let decision = gate.decide_on(gate.terms().caller("third"), None, &()).unwrap();
    assert!(decision.passes() && decision.origin().is_none());
    // A service's own credential comes first, a forged one changes nothing.
    let service =
        |line| gate.decide_on(gate.terms().caller("one"), Some(PEER), &lines(&gate, [line])[..]).unwrap();
    assert!(service(SECRET).passes() && !service(FORGED).passes());
}

// Abuse 22: scopes and callers are joined with their lengths.
#[test]
fn each_scope_has_a_budget() {
    let gate = built(five().0);
    for (scope, user) in [("/a", "b"), ("/ab", ""), ("/", "ab"), ("/b", "a")] {
        assert_eq!(passes(&gate, |terms| terms.scope(scope).caller(user)), 5, "{scope} {user}");
    }
    assert_eq!(passes(&gate, |terms| terms.scope("/a")), 5);
    assert_eq!(passes(&gate, |terms| terms.scope("/b")), 5);
    assert_eq!(passes(&gate, |terms| terms.caller("/b")), 5);
}

#[test]
fn policies_of_networks_count_by_address_whoever_the_user_is() {
    let gate = built(five().0.policy(Policy::new("network", Quota::per_minute(12)).v4_prefix(24)));
    let users = ["one", "two", "three", "four"];
    assert_eq!(users.map(|user| passes(&gate, |terms| terms.caller(user))), [5, 5, 2, 0]);
    assert_eq!(gate.decide_on(gate.terms().caller("one"), None, &()), Err(NoPeer));
}

#[test]
fn classes_have_quotas_of_their_own() {
    let everyone = Policy::new("everyone", Quota::per_minute(40)).for_everyone();
    let gate = built(
        five()
            .0
            .class("paid", Quota::per_minute(10))
            .class("partner", Quota::per_minute(15))
            .policy(everyone),
    );
    let passed = |class: &str, user: &str| passes(&gate, |terms| terms.class(class).caller(user));
    assert_eq!([passed("paid", "a"), passed("partner", "b"), passed("no such class", "c")], [10, 15, 5]);
    assert_eq!(passed("paid", "d"), 10, "and everybody together forty");
    assert_eq!(passed("paid", "e"), 0);
    let refused = on(&gate, gate.terms().class("partner").caller("b"));
    let answer = gate.refusal(&refused, &()).unwrap();
    assert_eq!(field(&answer, "ratelimit-policy"), r#""partner";q=15;w=60, "everyone";q=40;w=60"#);
    assert!(answer.body().contains("\"violated-policies\":[\""), "{}", answer.body());
    assert!(decide(&gate, [SECRET]).passes());
}
