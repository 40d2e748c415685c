//! The three tests of the incident.

use std::time::Duration;
use tollgate_conformance::{Caller, TOKEN, five};

use crate::support::{api, built};

#[tokio::test]
async fn twenty_with_the_internal_token_against_a_limit_of_five_all_pass() {
    let gate = built(five().0);
    let edge = Caller::from(1, api(&gate));
    for path in ["/", "/internal"] {
        for _ in 0..20 {
            assert_eq!(edge.get_with(path, TOKEN).await.status, 200);
        }
    }
    assert_eq!(edge.statuses("/", 6).await, [200, 200, 200, 200, 200, 429], "none of them was counted");
}

#[tokio::test]
async fn plain_requests_pass_five_times_then_429_and_again_after_the_window() {
    let (gate, clock) = five();
    let server = api(&built(gate));
    let (caller, other) = (Caller::from(1, server), Caller::from(2, server));
    assert_eq!(caller.statuses("/", 7).await, [200, 200, 200, 200, 200, 429, 429]);
    assert_eq!(other.statuses("/", 1).await, [200], "a budget is one address's");
    clock.advance(Duration::from_secs(59));
    assert_eq!(caller.statuses("/", 1).await, [429]);
    clock.advance(Duration::from_secs(1));
    assert_eq!(caller.statuses("/", 6).await, [200, 200, 200, 200, 200, 429]);
}

#[tokio::test]
async fn forged_tokens_are_refused_the_same_way_and_internal_routes_answer_them_401() {
    let (gate, clock) = five();
    let server = api(&built(gate));
    let forger = Caller::from(1, server);
    let mut statuses = Vec::new();
    for number in 0..7 {
        statuses.push(forger.get_with("/", &format!("made-up token number {number}")).await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);

    clock.advance(Duration::from_mins(1));
    statuses.clear();
    for number in 0..7 {
        statuses.push(forger.get_with("/internal", &format!("made-up token number {number}")).await.status);
    }
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429], "401 while the budget lasts");
    assert_eq!(forger.get_with("/internal", TOKEN).await.status, 200, "an identity is not an address");
}
