//! Several limits at once, and quotas of every kind.

use std::net::IpAddr;
use std::time::Duration;

use tollgate_http::{Clock, Decision, Gate, GateBuilder, ManualClock, Nanos, Policy, Quota, Verdict};

use crate::support::{SECRET, decide, field, passes};

fn at(gate: GateBuilder) -> (Gate, ManualClock) {
    let clock = ManualClock::new();
    (gate.clock(Clock::Manual(clock.clone())).build().unwrap(), clock)
}

fn decision(gate: &Gate, peer: &str) -> Decision {
    gate.decide(Some(peer.parse().unwrap()), &()).unwrap()
}

fn admitted(gate: &Gate, peers: impl Iterator<Item = IpAddr>) -> usize {
    peers.filter(|peer| gate.decide(Some(*peer), &()).unwrap().passes()).count()
}

#[test]
fn a_network_has_a_budget_beside_its_callers() {
    let gate = Gate::builder(Quota::per_minute(5))
        .policy(Policy::new("network", Quota::per_minute(12)).v4_prefix(24).v6_prefix(48));
    let (gate, _) = at(gate);
    // Twenty hosts of one /24 and twenty /64 of one /48.
    let v4 = || (0..100).map(|n| IpAddr::from([203, 0, 113, n % 20]));
    let v6 = || (0..100).map(|n| IpAddr::from([0x2001, 0xdb8, 1, n % 20, 0, 0, 0, n]));
    assert_eq!((admitted(&gate, v4()), admitted(&gate, v6())), (12, 12));
    // Others have their own.
    assert!(decision(&gate, "203.0.114.1").passes() && decision(&gate, "2001:db8:2::1").passes());
    let refused = decision(&gate, "203.0.113.1");
    let answer = gate.refusal(&refused, &()).unwrap();
    assert!(answer.body().contains(r#""violated-policies":["network"]"#), "{}", answer.body());
    assert!(answer.body().contains("The limit of 12 requests"), "{}", answer.body());
    assert_eq!(field(&answer, "ratelimit-policy"), r#""default";q=5;w=60, "network";q=12;w=60"#);
    assert_eq!(field(&answer, "ratelimit"), r#""network";r=0;t=60"#);
}

// A refused request is charged nowhere: who is over its own limit does not use up its network's.
#[test]
fn one_caller_can_not_use_up_what_its_network_has() {
    let gate = Gate::builder(Quota::per_minute(5))
        .policy(Policy::new("network", Quota::per_minute(12)).v4_prefix(24));
    let (gate, _) = at(gate);
    assert_eq!(admitted(&gate, (0..1000).map(|_| IpAddr::from([203, 0, 113, 1]))), 5);
    assert_eq!(admitted(&gate, (0..1000).map(|_| IpAddr::from([203, 0, 113, 2]))), 5);
    assert_eq!(admitted(&gate, (0..1000).map(|_| IpAddr::from([203, 0, 113, 3]))), 2);
}

#[test]
fn everybody_together_has_a_budget() {
    let gate = Gate::builder(Quota::per_minute(5))
        .service("edge", SECRET)
        .policy(Policy::new("everyone", Quota::per_minute(100)).for_everyone());
    let (gate, clock) = at(gate);
    let all = || (0..200).map(|host| IpAddr::from([203, 0, 113, host]));
    assert_eq!(admitted(&gate, all()), 100);
    assert_eq!(passes(&gate, [SECRET], 1000), 1000);
    clock.advance(Duration::from_mins(1));
    assert_eq!(admitted(&gate, all()), 100);
}

#[test]
fn each_policy_has_a_member_and_the_verdict_is_of_the_closest() {
    let gate = Gate::builder(Quota::per_minute(300)).policy(Policy::new("second", Quota::per_second(4)));
    let (gate, clock) = at(gate);
    let one = decide(&gate, []);
    let fields = gate.fields(&one).unwrap();
    assert_eq!(fields.rate_limit_policy(), r#""default";q=300;w=60, "second";q=4;w=1"#);
    assert_eq!(fields.rate_limit(), r#""default";r=299;t=60, "second";r=3;t=1"#);
    let Some(Verdict::Admitted(closest)) = one.verdict() else { panic!("admitted") };
    assert_eq!((closest.limit, one.standings().len()), (4, 2));
    assert_eq!(passes(&gate, [], 10), 3);
    clock.advance(Duration::from_secs(1));
    assert_eq!(passes(&gate, [], 10), 4);
}

/// `t` is when there is more, and a wait is never shorter than it.
#[test]
fn quotas_of_every_kind_say_when_there_is_more() {
    let minute = Nanos::from_secs(60);
    for (quota, first, second) in [
        (Quota::per_minute(60), r#""default";r=59;t=60"#, r#""default";r=58;t=60"#),
        (Quota::per_minute(60).sliding(), r#""default";r=59;t=61"#, r#""default";r=58;t=61"#),
        (Quota::per_minute(60).burst(10), r#""default";r=9;t=1"#, r#""default";r=8;t=1"#),
        (Quota::at_most(70).in_any(minute).burst(10), r#""default";r=9;t=1"#, r#""default";r=8;t=1"#),
    ] {
        let (gate, clock) = at(Gate::builder(quota));
        let told = || gate.fields(&decide(&gate, [])).unwrap().rate_limit().to_owned();
        assert_eq!((told().as_str(), told().as_str()), (first, second), "{quota:?}");
        let mut rest = passes(&gate, [], 100);
        assert_eq!(rest, usize::try_from(gate.limiter().limit()).unwrap() - 2, "{quota:?}");
        for _ in 0..20 {
            let answer = gate.refusal(&decide(&gate, []), &()).unwrap();
            let wait = field(&answer, "retry-after").parse().unwrap();
            clock.advance(Duration::from_secs(wait));
            rest = passes(&gate, [], 100);
            assert!(rest > 0, "{quota:?}: who waits as told is admitted");
        }
    }
}
