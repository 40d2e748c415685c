//! What changes while a gate is in use: modes, quotas, charges that are given back, requests under way, penalties.

use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tollgate_http::{
    Answer, ChangeError, Clock, Decision, Gate, GateBuilder, ManualClock, Mode, Nanos, Permit, Policy, Quota,
    Reason,
};

use crate::support::{PEER, SECRET, decide, field, five, passes};

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
    let gate = Arc::new(gate);
    assert_eq!(gate.quota(), Quota::per_minute(7));
    let paid = gate.terms().class("paid").caller("a").decide(None, &()).unwrap();
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

fn admit(gate: &Arc<Gate>) -> (Decision, Option<Permit>) {
    gate.terms().admit(Some(PEER), &()).unwrap()
}

fn permit(gate: &Arc<Gate>) -> Permit {
    admit(gate).1.unwrap()
}

#[test]
fn only_failures_may_be_charged() {
    let gate = shared(five().0.charge_if(|status| status == 401));
    for _ in 0..100 {
        // With all of it there, there is nothing to wait for.
        assert_eq!(permit(&gate).settle(200, None).unwrap().rate_limit(), r#""default";r=5"#);
    }
    for left in (0..5).rev() {
        let fields = permit(&gate).settle(401, None).unwrap();
        assert_eq!(fields.rate_limit(), format!(r#""default";r={left};t=60"#));
    }
    assert!(!decide(&gate, []).passes());
    // What was never answered stays charged.
    let gate = shared(five().0.charge_if(|status| status < 500));
    assert_eq!((0..10).filter_map(|_| admit(&gate).1).count(), 5);
}

#[test]
fn every_policy_gives_back_what_it_charged() {
    let all = Policy::new("all", Quota::per_minute(8)).for_everyone();
    let gate = five().0.policy(Policy::new("second", Quota::per_second(6))).policy(all);
    let gate = shared(gate.charge_if(|status| status < 500));
    for _ in 0..100 {
        let fields = permit(&gate).settle(503, None).unwrap();
        assert_eq!(fields.rate_limit(), r#""default";r=5, "second";r=6"#);
    }
    assert_eq!(passes(&gate, [], 10), 5);
}

#[test]
fn what_is_refused_inside_stays_charged_unless_it_is_said() {
    let inner = shared(five().0);
    assert_eq!(passes(&inner, [], 10), 5);
    let refused = decide(&inner, []);
    for (outer, passed) in [(five().0, 5), (five().0.refund_inner_refusals(), 100)] {
        let outer = shared(outer);
        let settled = (0..100).filter_map(|_| admit(&outer).1?.settle(429, Some(&refused)));
        assert_eq!(settled.count(), passed);
    }
    // A decision of its own says nothing, and neither does one that let the request pass.
    let outer = shared(five().0.refund_inner_refusals());
    let own = decide(&outer, []);
    drop(permit(&outer).settle(200, Some(&own)));
    drop(permit(&outer).settle(200, Some(&decide(&five().0.build().unwrap(), []))));
    assert_eq!(passes(&outer, [], 10), 2);
}

// Nobody settles what another gate has decided, though they share a seed, as the nodes of a cluster do.
#[test]
fn a_decision_is_its_own_gate_s_alone() {
    let (one, other) = (five().0.build().unwrap(), five().0.build().unwrap());
    let decision = decide(&one, []);
    assert!(one.fields(&decision).is_some());
    assert_eq!(other.fields(&decision), None);
    assert_eq!(passes(&one, [], 10), 4);
    let refused = decide(&one, []);
    assert!(one.refusal(&refused, &()).is_some() && other.refusal(&refused, &()).is_none());
}

#[test]
fn requests_under_way_are_limited_and_released() {
    let gate = shared(five().0.in_flight(2));
    let permits = [permit(&gate), permit(&gate)];
    let (refused, none) = admit(&gate);
    assert!(!refused.passes() && none.is_none());
    let answer = gate.refusal(&refused, &()).unwrap();
    assert_eq!(field(&answer, "retry-after"), "1");
    assert_eq!(
        field(&answer, "ratelimit-policy"),
        r#""default";q=5;w=60, "in-flight";q=2;qu="concurrent-requests""#
    );
    assert_eq!(field(&answer, "ratelimit"), r#""in-flight";r=0;t=1"#);
    assert!(answer.body().contains("The limit of 2 requests at once"), "{}", answer.body());
    assert!(answer.body().contains(r#""violated-policies":["in-flight"]"#), "{}", answer.body());
    // Exempt ones come and go.
    assert!((0..10).all(|_| decide(&gate, [SECRET]).passes()));
    // In whatever scope and class.
    let elsewhere = gate.terms().scope("/elsewhere").admit(Some(PEER), &()).unwrap();
    assert!(!elsewhere.0.passes() && elsewhere.1.is_none());
    drop(permits);
    // Two of the five were charged, the refused ones were not.
    for _ in 0..3 {
        assert!(permit(&gate).settle(200, None).is_some());
    }
    // Who is refused by the quota is not under way.
    for _ in 0..10 {
        assert_eq!(admit(&gate).0.refusal().unwrap().reason, Reason::OverLimit);
    }
}

// Its fields may be told much later, as those of an error's response.
#[test]
fn what_is_settled_is_not_under_way_while_its_fields_are_told() {
    let gate = shared(five().0.in_flight(1));
    let mut first = permit(&gate);
    drop(first.settle_with(200, None));
    let second = permit(&gate);
    // Nor is it released twice.
    drop(first.settle_with(200, None));
    drop(first);
    assert!(admit(&gate).1.is_none());
    drop(second);
    assert!(admit(&gate).1.is_some());
}

// A caller's own policies are told one by one, beside one of networks that is not.
#[test]
fn each_policy_tells_whether_its_charge_came_back() {
    let clock = ManualClock::new();
    let gate = Gate::builder(Quota::per_second(6))
        .policy(Policy::new("net", Quota::per_hour(100)).v4_prefix(24))
        .policy(Policy::new("hour", Quota::per_hour(8)))
        .charge_if(|status| status < 500)
        .clock(Clock::Manual(clock.clone()));
    let gate = shared(gate);
    let (late, in_time) = (permit(&gate), permit(&gate));
    let told = in_time.settle(503, None).unwrap();
    assert_eq!(told.rate_limit(), r#""default";r=5;t=1, "hour";r=7;t=3600"#);
    // Its second is over, its hour is not.
    clock.advance(Duration::from_secs(2));
    assert_eq!(late.settle(503, None).unwrap().rate_limit(), r#""default";r=5;t=1, "hour";r=8"#);
}

// The first of them is not beside one of networks.
#[test]
fn only_the_charge_that_came_back_is_told() {
    let clock = ManualClock::new();
    let gate = Gate::builder(Quota::per_second(6))
        .policy(Policy::new("hour", Quota::per_hour(8)))
        .policy(Policy::new("second", Quota::per_second(7)))
        .charge_if(|status| status < 500)
        .clock(Clock::Manual(clock.clone()));
    let gate = shared(gate);
    let late = permit(&gate);
    clock.advance(Duration::from_secs(2));
    let told = late.settle(503, None).unwrap();
    assert_eq!(told.rate_limit(), r#""default";r=5;t=1, "hour";r=8, "second";r=6;t=1"#);
}

// Whatever the quota is when the response is made.
#[test]
fn an_answer_tells_what_was_decided() {
    for (limit, window) in [(7, 60), (4, 60), (5, 50)] {
        let gate = shared(five().0);
        let decided = permit(&gate);
        gate.set_quota("default", Quota::new(limit, Nanos::from_secs(window))).unwrap();
        assert_eq!(decided.settle(200, None).unwrap().rate_limit(), r#""default";r=4;t=60"#);
    }
}

// Foreign code may panic, and who catches that may keep the request's future.
#[test]
fn a_panic_while_a_request_is_settled_leaves_it_settled_and_no_longer_under_way() {
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let gate = shared(five().0.in_flight(1).charge_if(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        panic!("whether this is charged")
    }));
    let mut first = permit(&gate);
    catch_unwind(AssertUnwindSafe(|| drop(first.settle_with(200, None)))).unwrap_err();
    let _second = permit(&gate);
    drop(first.settle_with(503, None));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert!(admit(&gate).1.is_none(), "the first is released once");
}

#[test]
fn a_request_is_settled_once_however_often_its_response_is_made() {
    let gate = shared(five().0.charge_if(|status| status < 500));
    let remaining = |permit: &Permit| gate.fields(permit.decision()).unwrap().rate_limit().to_owned();
    let (mut charged, mut free) = (permit(&gate), permit(&gate));
    for status in [200, 500, 500] {
        drop(charged.settle_with(status, None));
        assert_eq!(remaining(&charged), r#""default";r=4;t=60"#);
    }
    for status in [500, 200, 500] {
        drop(free.settle_with(status, None));
        assert_eq!(remaining(&free), r#""default";r=4;t=60"#);
    }
    assert_eq!(remaining(&permit(&gate)), r#""default";r=3;t=60"#);
    assert_eq!(passes(&gate, [], 10), 3);
}

// The refused request is released at once, in whatever mode.
#[test]
fn whom_a_policy_would_refuse_is_not_under_way() {
    let (gate, clock) = five();
    let gate = shared(gate.in_flight(1).mode(Mode::Shadow));
    for _ in 0..5 {
        assert!(!permit(&gate).decision().is_over_limit());
    }
    let over = permit(&gate);
    assert!(over.decision().is_over_limit());
    clock.advance(Duration::from_mins(1));
    assert!(!permit(&gate).decision().is_over_limit());
    drop(over);
    assert!(!permit(&gate).decision().is_over_limit());
}

#[test]
fn in_shadow_mode_what_would_be_refused_is_not_under_way() {
    let gate = shared(five().0.in_flight(1).mode(Mode::Shadow));
    let permits: Vec<_> = (0..5).map(|_| permit(&gate)).collect();
    assert_eq!(permits.iter().filter(|permit| permit.decision().is_over_limit()).count(), 4);
    drop(permits);
    assert!(!permit(&gate).decision().is_over_limit());
}

// Nobody is out for what others have used up.
#[test]
fn refusals_by_shared_budgets_are_no_strikes() {
    let everyone = Policy::new("everyone", Quota::per_minute(20)).for_everyone();
    for policy in [everyone, Policy::new("network", Quota::per_minute(20)).v4_prefix(8)] {
        let (gate, clock) = five();
        let gate =
            gate.policy(policy).penalty(3, Duration::from_mins(1), Duration::from_hours(1)).build().unwrap();
        for host in 0..4 {
            let peer = Some(IpAddr::from([203, 0, 114, host]));
            assert_eq!((0..5).filter(|_| gate.decide(peer, &()).unwrap().passes()).count(), 5);
        }
        assert_eq!(passes(&gate, [], 10), 0);
        assert_eq!(decide(&gate, []).refusal().unwrap().reason, Reason::OverLimit);
        clock.advance(Duration::from_mins(1));
        assert_eq!(passes(&gate, [], 5), 5);
    }
}

// What is told as the one limit is the one of which the least is left, whichever of a gate's it is.
#[test]
fn older_fields_tell_of_the_closest_limit() {
    let gate = five().0.legacy_fields(true).policy(Policy::new("hour", Quota::per_hour(3)));
    let gate = gate.policy(Policy::new("day", Quota::per_day(3)));
    let gate = gate.build().unwrap();
    let fields = gate.fields(&decide(&gate, [])).unwrap();
    let told: Vec<_> = fields.iter().skip(2).map(|field| field.value.to_owned()).collect();
    // Of two that are as close the first.
    assert_eq!(told, ["3", "2", "3600"]);
}

// Abuse 25: what others do is not told.
#[test]
fn shared_budgets_are_not_told_until_they_refuse() {
    let gate =
        five().0.legacy_fields(true).policy(Policy::new("everyone", Quota::per_minute(7)).for_everyone());
    let gate = gate.build().unwrap();
    let fields = gate.fields(&decide(&gate, [])).unwrap();
    assert_eq!(fields.rate_limit_policy(), r#""default";q=5;w=60, "everyone";q=7;w=60"#);
    assert_eq!(fields.rate_limit(), r#""default";r=4;t=60"#);
    assert_eq!(fields.iter().nth(2).unwrap().value, "5", "the legacy limit is the caller's");
    let stranger = Some(IpAddr::from([198, 51, 100, 1]));
    let last = (0..7).map(|_| gate.decide(stranger, &()).unwrap()).last().unwrap();
    assert_eq!(gate.fields(&last).unwrap().rate_limit(), r#""default";r=0;t=60"#);
    assert_eq!(passes(&gate, [], 2), 1);
    assert_eq!(gate.fields(&decide(&gate, [])).unwrap().rate_limit(), r#""everyone";r=0;t=60"#);
}

#[test]
fn changes_at_once_tell_what_is_enforced() {
    let gate = five().0.build().unwrap();
    for round in 0..200 {
        std::thread::scope(|scope| {
            for limit in [5, 6, 7] {
                let gate = &gate;
                scope.spawn(move || gate.set_quota("default", Quota::per_minute(limit)).unwrap());
            }
        });
        assert_eq!(gate.quota().limit(), gate.limiter().limit(), "round {round}");
    }
}

#[test]
fn who_is_refused_too_often_is_out_for_longer() {
    let (gate, clock) = five();
    let gate = gate.penalty(3, Duration::from_mins(1), Duration::from_hours(1)).build().unwrap();
    assert_eq!(passes(&gate, [], 7), 5);
    let refused = decide(&gate, []);
    // In terms of its own limit, not of strikes.
    assert_eq!(refused.refusal().unwrap().limit, 5);
    let answer = gate.refusal(&refused, &()).unwrap();
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

    let gate = five().0.responder(|answer, _| answer.with_status(503)).build().unwrap();
    assert_eq!(passes(&gate, [], 10), 5);
    let body = gate.refusal(&decide(&gate, []), &()).unwrap().body().to_owned();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&body).unwrap()["status"], 503);

    let respond =
        |answer: Answer, _: &_| answer.with_field("Retry-After", "7").with_field("RateLimit", "none");
    let gate = five().0.responder(respond).build().unwrap();
    assert_eq!(passes(&gate, [], 10), 5);
    let answer = gate.refusal(&decide(&gate, []), &()).unwrap();
    assert_eq!([field(&answer, "retry-after"), field(&answer, "ratelimit")], ["7", "none"]);
    assert_eq!(field(&answer, "ratelimit-policy"), r#""default";q=5;w=60"#);
}

#[test]
fn clients_of_grpc_get_a_status_of_theirs() {
    let gate = five().0.responder(|answer, _| answer.with_status(503)).build().unwrap();
    assert_eq!(passes(&gate, [], 10), 5);
    for kind in ["application/grpc", "Application/gRPC+proto", "application/grpc-web"] {
        let answer = gate.refusal(&decide(&gate, []), &[("content-type", kind)]).unwrap();
        assert_eq!((answer.status(), answer.body()), (200, ""));
        assert_eq!(field(&answer, "content-type"), "application/grpc");
        assert_eq!(field(&answer, "grpc-status"), "8");
        // To the millisecond: the window is enforced rounded down, to 59.996 s.
        assert_eq!(field(&answer, "grpc-retry-pushback-ms"), "59996");
        assert_eq!(
            field(&answer, "grpc-message"),
            "The limit of 5 requests in 60 s is used up. Try again in 60 s."
        );
    }
    let answer = gate.refusal(&decide(&gate, []), &[("content-type", "application/json")]).unwrap();
    assert_eq!(answer.status(), 503);

    // A pushback has 32 bits, and a message is ASCII.
    let grpc = [("content-type", "application/grpc")];
    let month = Gate::builder(Quota::new(1, Nanos::from_secs(30 * 86_400))).build().unwrap();
    assert_eq!(passes(&month, [], 2), 1);
    let answer = month.refusal(&decide(&month, []), &grpc).unwrap();
    assert_eq!(field(&answer, "grpc-retry-pushback-ms"), i32::MAX.to_string());
    let instant = Gate::builder(Quota::new(1, Nanos(500_000)))
        .clock(Clock::Manual(ManualClock::new()))
        .build()
        .unwrap();
    assert_eq!(passes(&instant, [], 2), 1);
    let answer = instant.refusal(&decide(&instant, []), &grpc).unwrap();
    assert_eq!(
        field(&answer, "grpc-message"),
        "The limit of 1 requests in 0.0005 s is used up. Try again in 1 s."
    );
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
