//! What changes while a gate is in use: modes, quotas, charges that are given back, requests under way, penalties.

use std::sync::Arc;
use std::time::Duration;

use tollgate_http::{Answer, ChangeError, Gate, GateBuilder, Mode, Permit, Policy, Quota, Reason};

use crate::support::{SECRET, decide, field, five, passes};

fn shared(gate: GateBuilder) -> Arc<Gate> {
    Arc::new(gate.build().unwrap())
}

#[test]
fn a_mode_holds_from_the_next_request_on_and_counts_stay() {
    let gate = five().0.build().unwrap();
    assert_eq!(passes(&gate, [], 3), 3);
    gate.set_mode(Mode::Shadow);
    assert_eq!((gate.mode(), passes(&gate, [], 10)), (Mode::Shadow, 10));
    gate.set_mode(Mode::Off);
    assert_eq!((gate.mode(), passes(&gate, [], 10)), (Mode::Off, 10));
    gate.set_mode(Mode::Enforce);
    assert_eq!((gate.mode(), passes(&gate, [], 10)), (Mode::Enforce, 0));
}

#[test]
fn a_quota_holds_from_the_next_request_on_and_counts_stay() {
    let gate = five()
        .0
        .class("paid", Quota::per_minute(10))
        .policy(Policy::new("all", Quota::per_minute(1000)).for_everyone());
    let gate = gate.build().unwrap();
    assert_eq!(passes(&gate, [], 10), 5);
    gate.set_quota("default", Quota::per_minute(7)).unwrap();
    assert_eq!(passes(&gate, [], 10), 2);
    let answer = gate.refusal(&decide(&gate, []), &()).unwrap();
    assert_eq!(field(&answer, "ratelimit-policy"), r#""default";q=7;w=60, "all";q=1000;w=60"#);
    assert!(answer.body().contains("The limit of 7 requests"), "{}", answer.body());
    gate.set_quota("paid", Quota::per_minute(12)).unwrap();
    let paid = gate.decide_on(gate.terms().class("paid").caller("a"), None, &()).unwrap();
    assert_eq!(gate.fields(&paid).unwrap().rate_limit_policy(), r#""paid";q=12;w=60, "all";q=1000;w=60"#);

    for (name, quota, advice) in [
        ("default", Quota::per_minute(5000), "as many binary digits"),
        ("default", Quota::per_minute(0), "use at least 1"),
        ("paid", Quota::per_hour(12), "as many binary digits"),
        ("paid", Quota::per_minute(12).sliding(), "keep the algorithm"),
        ("all", Quota::per_minute(900), "build another gate"),
        ("typo", Quota::per_minute(5), "the name that responses call it by"),
    ] {
        let error: ChangeError = gate.set_quota(name, quota).unwrap_err();
        assert!(error.to_string().contains(advice), "{error} does not say {advice:?}");
    }
    assert_eq!(gate.fields(&paid).unwrap().rate_limit_policy(), r#""paid";q=12;w=60, "all";q=1000;w=60"#);
}

#[test]
fn only_failures_may_be_charged() {
    let gate = five().0.charge_if(|status| status == 401).build().unwrap();
    for _ in 0..100 {
        let decision = decide(&gate, []);
        assert!(decision.passes());
        assert_eq!(gate.settle(&decision, 200).unwrap().rate_limit(), r#""default";r=5;t=60"#);
    }
    for left in (0..5).rev() {
        let fields = gate.settle(&decide(&gate, []), 401).unwrap();
        assert!(fields.rate_limit().contains(&format!("r={left};")), "{fields:?}");
    }
    assert!(!decide(&gate, []).passes());
    // What was never answered stays charged.
    let gate = five().0.charge_if(|status| status < 500).build().unwrap();
    assert_eq!(passes(&gate, [], 10), 5);
}

#[test]
fn every_policy_gives_back_what_it_charged() {
    let all = Policy::new("all", Quota::per_minute(8)).for_everyone();
    let gate = five().0.policy(Policy::new("network", Quota::per_minute(6)).v4_prefix(24)).policy(all);
    let gate = gate.charge_if(|status| status < 500).build().unwrap();
    for _ in 0..100 {
        let fields = gate.settle(&decide(&gate, []), 503).unwrap();
        assert_eq!(fields.rate_limit(), r#""default";r=5;t=60, "network";r=6;t=60, "all";r=8;t=60"#);
    }
    assert_eq!(passes(&gate, [], 10), 5);
}

#[test]
fn requests_under_way_are_limited_and_released() {
    let gate = shared(five().0.in_flight(2));
    let (one, two) = (decide(&gate, []), decide(&gate, []));
    let permits = [Permit::of(&gate, &one).unwrap(), Permit::of(&gate, &two).unwrap()];
    let refused = decide(&gate, []);
    assert!(!refused.passes() && Permit::of(&gate, &refused).is_none());
    let answer = gate.refusal(&refused, &()).unwrap();
    assert_eq!(field(&answer, "retry-after"), "1");
    assert_eq!(
        field(&answer, "ratelimit-policy"),
        r#""default";q=5;w=60, "in-flight";q=2;qu="concurrent-requests""#
    );
    assert_eq!(field(&answer, "ratelimit"), r#""in-flight";r=0"#);
    assert!(answer.body().contains("The limit of 2 requests at once"), "{}", answer.body());
    assert!(answer.body().contains(r#""violated-policies":["in-flight"]"#), "{}", answer.body());
    // Others come and go, and exempt ones are not counted.
    assert!((0..10).all(|_| decide(&gate, [SECRET]).passes()));
    drop(permits);
    // Two of the five were charged, the refused one was not.
    for _ in 0..3 {
        let decision = decide(&gate, []);
        assert!(decision.passes());
        drop(Permit::of(&gate, &decision));
    }
    // Who is refused by the quota is not under way.
    for _ in 0..10 {
        assert_eq!(decide(&gate, []).refusal().unwrap().reason, Reason::OverLimit);
    }
    let other = shared(five().0.in_flight(2));
    assert!(Permit::of(&other, &one).is_none(), "another gate's");
}

#[test]
fn who_is_refused_too_often_is_out_for_longer() {
    let (gate, clock) = five();
    let gate = gate.penalty(3, Duration::from_mins(1), Duration::from_hours(1)).build().unwrap();
    assert_eq!(passes(&gate, [], 7), 5);
    let answer = gate.refusal(&decide(&gate, []), &()).unwrap();
    assert_eq!(field(&answer, "retry-after"), "3600");
    assert!(answer.body().contains("Too many requests were refused"), "{}", answer.body());
    clock.advance(Duration::from_mins(59));
    assert_eq!(passes(&gate, [], 10), 0);
    clock.advance(Duration::from_mins(1));
    assert_eq!(passes(&gate, [], 10), 5);
}

#[test]
fn answers_may_be_one_s_own() {
    let respond = |answer: Answer, _: &_| {
        answer.with_status(503).with_body("text/html", "<h1>Slow down</h1>").with_field("x-help", "/limits")
    };
    let gate = five().0.responder(respond).build().unwrap();
    assert_eq!(passes(&gate, [], 10), 5);
    let answer = gate.refusal(&decide(&gate, []), &()).unwrap();
    assert_eq!((answer.status(), answer.body()), (503, "<h1>Slow down</h1>"));
    assert_eq!([field(&answer, "content-type"), field(&answer, "x-help")], ["text/html", "/limits"]);
    assert_eq!(field(&answer, "retry-after"), "60", "the rest stays");
}

#[test]
fn clients_of_grpc_get_a_status_of_theirs() {
    let gate = five().0.responder(|answer, _| answer.with_status(503)).build().unwrap();
    assert_eq!(passes(&gate, [], 10), 5);
    for kind in ["application/grpc", "application/grpc+proto", "application/grpc-web"] {
        let answer = gate.refusal(&decide(&gate, []), &[("content-type", kind)]).unwrap();
        assert_eq!((answer.status(), answer.body()), (200, ""));
        assert_eq!(field(&answer, "content-type"), "application/grpc");
        assert_eq!(field(&answer, "grpc-status"), "8");
        // To the millisecond: the window is enforced rounded down, to 59.996 s.
        assert_eq!(field(&answer, "grpc-retry-pushback-ms"), "59996");
        assert_eq!(
            field(&answer, "grpc-message"),
            "The limit of 5 requests in 60s is used up. Try again in 60 s."
        );
    }
    let answer = gate.refusal(&decide(&gate, []), &[("content-type", "application/json")]).unwrap();
    assert_eq!(answer.status(), 503);
}

#[test]
fn fields_come_in_the_styles_that_are_wanted() {
    let names = |gate: &Gate| -> Vec<String> {
        let fields = gate.fields(&decide(gate, []));
        fields
            .iter()
            .flat_map(|fields| fields.iter().map(|field| field.name.to_owned()).collect::<Vec<_>>())
            .collect()
    };
    assert_eq!(names(&five().0.build().unwrap()), ["ratelimit-policy", "ratelimit"]);
    let legacy = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
    assert_eq!(names(&five().0.legacy_fields(true).rate_limit_fields(false).build().unwrap()), legacy);
    assert_eq!(names(&five().0.rate_limit_fields(false).build().unwrap()), [""; 0]);
    let both = five().0.legacy_fields(true).build().unwrap();
    assert_eq!(names(&both).len(), 5);
    let fields = both.fields(&decide(&both, [])).unwrap();
    let values: Vec<_> = fields.iter().skip(2).map(|field| field.value).collect();
    assert_eq!(values, ["5", "3", "60"]);
    assert_eq!(passes(&both, [], 5), 3);
    let answer = both.refusal(&decide(&both, []), &()).unwrap();
    assert_eq!([field(&answer, "x-ratelimit-remaining"), field(&answer, "x-ratelimit-reset")], ["0", "60"]);
}
