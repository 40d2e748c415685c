use std::time::Duration;

use tollgate_axum::{ChangeError, Clock, Gate, GateError, Keyer, ManualClock, Quota};
use tollgate_conformance::{Caller, Received};
use tollgate_redis::SharedLimiterBuilder;

use crate::support::{DEADLINE, KEYER, TestServer, connected, eventually, node};
use crate::{gate, serve};

fn told(received: &Received) -> &str {
    received.lines("ratelimit")[0]
}

/// What responses say that remains, and when there is more, is what those of a gate of its own say.
#[tokio::test]
async fn responses_tell_what_remains() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    let clock = ManualClock::new();
    clock.advance(Duration::from_hours(490_000));
    let kinds = [Quota::per_minute(7), Quota::per_minute(60).burst(10), Quota::per_minute(7).sliding()];
    for (quota, name) in kinds.into_iter().zip(["fixed", "even", "sliding"]) {
        let gate = || Gate::builder(quota).policy_name(name).clock(Clock::Manual(clock.clone()));
        let own = Caller::from(1, serve(gate()).await);
        let strict = Caller::from(1, serve(gate().shared(store.with(SharedLimiterBuilder::strict))).await);
        let lent = Caller::from(2, serve(gate().shared(store.clone())).await);
        for millis in [0, 0, 100, 900, 0, 0, 1_500, 0, 0, 0, 0, 0, 0, 21_000, 37_500, 0, 9_000, 90_000, 0] {
            clock.advance(Duration::from_millis(millis));
            let (own, strict, lent) = (own.get("/").await, strict.get("/").await, lent.get("/").await);
            assert_eq!((strict.status, strict.lines("retry-after")), (own.status, own.lines("retry-after")));
            assert_eq!(lent.status, own.status, "{name}");
            match own.status {
                // Of a sliding window it is not said when there is a part of it.
                200 if name == "sliding" => {
                    let remains = |reply: &Received| -> String { told(reply).split(';').take(2).collect() };
                    assert_eq!(remains(&strict), remains(&own));
                }
                _ => assert_eq!(told(&strict), told(&own)),
            }
        }
    }
}

/// What a response makes free is given back to the store, also by a node that does not wait for it.
#[tokio::test]
async fn failures_are_given_back() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    let strict = store.with(SharedLimiterBuilder::strict);
    let caller = Caller::from(1, serve(gate(5, strict).charge_if(|status| status < 500)).await);
    for _ in 0..20 {
        assert_eq!(caller.get("/fails").await.status, 502);
        // The next request may be at the store before what is given back.
        eventually("it is given back", async || store.counts().round_trips % 2 == 0).await;
    }
    assert_eq!(caller.statuses("/", 6).await, [200, 200, 200, 200, 200, 429]);
}

#[tokio::test]
async fn what_can_t_work_is_told() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    let other = gate(5, store.clone()).keyer(Keyer::new(*b"some other seed.")).build().unwrap_err();
    assert_eq!(other, GateError::TwoSeeds);
    assert!(gate(5, store.clone()).keyer(KEYER).build().is_ok());
    let named = gate(5, store.clone()).policy_name("a name with spaces").build().unwrap_err();
    assert!(named.to_string().contains("can't be part of a key"), "{named}");
    let gate = gate(5, store).build().unwrap();
    assert_eq!(gate.set_quota("default", Quota::per_hour(6)), Err(ChangeError::Shared));
}

/// Without a framework: whoever can wait gets the store's answer, and whoever can't is refused what this node does not know.
#[tokio::test]
async fn who_can_t_wait_is_refused() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    let gate = std::sync::Arc::new(gate(300, store).build().unwrap());
    let peer = "203.0.113.7".parse().ok();
    let decide = || gate.decide(peer, &()).unwrap();
    assert_eq!(gate.refusal(&decide(), &()).unwrap().status(), 503);
    let asked = tokio::time::timeout(DEADLINE, gate.decide_shared(peer, &())).await.unwrap().unwrap();
    assert_eq!(asked.standings()[0].remaining, 299);
    // Nothing is lent yet, and then something is.
    assert!(!decide().passes());
    let mut passed = 1;
    while !decide().passes() {
        assert!(gate.decide_shared(peer, &()).await.unwrap().passes());
        passed += 1;
        assert!(passed < 300, "nothing is ever lent");
    }
    let (asked, permit) = gate.terms().admit_shared(peer, &()).await.unwrap();
    assert!(asked.passes() && permit.is_some());
}
