//! Costs, callers that are no addresses, scopes and classes.

use std::sync::Arc;

use tollgate_http::{Decision, Gate, GateBuilder, NoPeer, Overflow, Policy, Quota, Reason, Terms};

use crate::support::{FORGED, PEER, SECRET, decide, field, five, lines};

fn on(terms: Terms<'_>) -> Decision {
    terms.decide(Some(PEER), &()).unwrap()
}

/// How many of twenty pass.
fn passes<'g>(gate: &'g Arc<Gate>, terms: impl Fn(Terms<'g>) -> Terms<'g>) -> usize {
    (0..20).filter(|_| on(terms(gate.terms())).passes()).count()
}

fn built(gate: GateBuilder) -> Arc<Gate> {
    Arc::new(gate.build().unwrap())
}

#[test]
fn a_request_may_cost_more() {
    let gate = built(five().0);
    assert_eq!(passes(&gate, |terms| terms.cost(2)), 2);
    assert_eq!(passes(&gate, |terms| terms), 1);
    assert_eq!(passes(&gate, |terms| terms.cost(0)), 20);
    let refused = on(gate.terms().cost(6));
    assert_eq!(refused.refusal().unwrap().reason, Reason::CostAboveLimit);
    let answer = gate.refusal(&refused, &()).unwrap();
    assert!(answer.body().contains("costs more than the limit of 5"), "{}", answer.body());
    assert_eq!(field(&answer, "ratelimit"), r#""default";r=0"#, "of five none is left");
    let fresh = gate.terms().caller("fresh").cost(6).decide(None, &()).unwrap();
    assert_eq!(
        gate.fields(&fresh).unwrap().rate_limit(),
        r#""default";r=5"#,
        "all is left, and no wait helps"
    );
    let three = |cost| gate.terms().caller("three").cost(cost).decide(None, &()).unwrap();
    assert!(three(3).passes() && !three(3).passes());
    assert_eq!(gate.fields(&three(3)).unwrap().rate_limit(), r#""default";r=2;t=60"#);
    // No wait helps, so none is told.
    assert!(answer.fields().all(|field| field.name != "retry-after"));
}

#[test]
fn skipped_requests_pass_uncounted_with_their_identity() {
    let gate = built(five().0);
    assert_eq!(passes(&gate, Terms::skip), 20);
    assert_eq!(passes(&gate, |terms| terms), 5);
    assert_eq!(passes(&gate, Terms::skip), 20, "whoever is over the limit is skipped too");
    let own = gate.terms().skip().decide(None, &lines(&gate, [SECRET])[..]).unwrap();
    assert_eq!((own.identity().service(), gate.fields(&own)), (Some("edge"), None));
    assert!(!gate.terms().skip().decide(None, &()).unwrap().lacks_peer());
}

#[test]
fn callers_may_be_users() {
    let gate = built(five().0);
    for user in ["one", "another", ""] {
        assert_eq!(passes(&gate, |terms| terms.caller(user)), 5, "{user:?}");
    }
    assert_eq!(passes(&gate, |terms| terms), 5, "nor is any user the address");
    // The address is not needed.
    let decision = gate.terms().caller("third").decide(None, &()).unwrap();
    assert!(decision.passes() && decision.origin().is_none());
    // A service's own credential comes first, a forged one changes nothing.
    let service = |line| gate.terms().caller("one").decide(Some(PEER), &lines(&gate, [line])[..]).unwrap();
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

// A scope is of the first policy: the others, and all that is the caller's, are held in all scopes together.
#[test]
fn scopes_add_up_and_do_not_multiply_other_policies() {
    let gate = built(five().0.policy(Policy::new("all routes", Quota::per_minute(12))));
    let passed = |scope: &str| passes(&gate, |terms| terms.scope(scope));
    assert_eq!([passed("/a"), passed("/b"), passed("/c"), passed("/d")], [5, 5, 2, 0]);

    let gate = built(five().0);
    let passed = |outer: &str, inner: &str| passes(&gate, |terms| terms.scope(outer).scope(inner));
    assert_eq!(
        [passed("GET", "/x"), passed("POST", "/x"), passed("GET/", "x"), passed("GET", "/x")],
        [5, 5, 5, 0]
    );
}

#[test]
fn a_class_that_does_not_exist_changes_nothing() {
    let gate = built(five().0.class("paid", Quota::per_minute(10)));
    assert_eq!(passes(&gate, |terms| terms.class("paid").class("typo")), 10);
}

#[test]
fn classes_overflow_as_the_gate_does() {
    let gate = built(five().0.class("paid", Quota::per_minute(10)).capacity(16).overflow(Overflow::Admit));
    let all = (0..200).filter(|user| on(gate.terms().class("paid").caller(format!("{user}"))).passes());
    assert_eq!(all.count(), 200);
}

#[test]
fn nothing_costs_nothing_under_several_policies_too() {
    let gate = built(five().0.policy(Policy::new("other", Quota::per_minute(5))));
    assert_eq!(passes(&gate, |terms| terms), 5);
    assert_eq!(passes(&gate, |terms| terms.cost(0)), 20);
}

#[test]
fn policies_of_networks_count_by_address_whoever_the_user_is() {
    let gate = built(five().0.policy(Policy::new("network", Quota::per_minute(12)).v4_prefix(24)));
    let users = ["one", "two", "three", "four"];
    assert_eq!(users.map(|user| passes(&gate, |terms| terms.caller(user))), [5, 5, 2, 0]);
    assert_eq!(gate.terms().caller("one").decide(None, &()), Err(NoPeer));
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
    let refused = on(gate.terms().class("partner").caller("b"));
    let answer = gate.refusal(&refused, &()).unwrap();
    assert_eq!(field(&answer, "ratelimit-policy"), r#""partner";q=15;w=60, "everyone";q=40;w=60"#);
    assert!(answer.body().contains("\"violated-policies\":[\""), "{}", answer.body());
    assert!(decide(&gate, [SECRET]).passes());
}
