//! Servers that are not put together right, and what their logs say.
//!
//! Every test that logs an error is here, with a subscriber: `tracing` may take a line that is first reached on a thread
//! without one for disabled, at the very moment when another thread's test begins to listen.

use std::sync::Arc;

use hyper::Method;
use tollgate_conformance::{Caller, Log, TOKEN, five};
use tollgate_hyper::{Mode, Tollgate};

use crate::support::{Api, serve_each};

// Abuse 32: a missing peer address is a 500 that names the fix.
#[tokio::test]
async fn without_a_peer_the_answer_is_500_and_the_log_names_the_fix() {
    let log = Log::of_this_thread();
    let gate = Arc::new(five().0.build().unwrap());
    let shared = Arc::clone(&gate);
    // The mistake: no peer.
    let make = move |_| Tollgate::new(Arc::clone(&shared)).wrap(Api::new(&shared), None);
    let caller = Caller::from(1, serve_each(make).await);
    let reply = caller.get("/").await;
    assert_eq!(reply.status, 500);
    assert!(!String::from_utf8_lossy(&reply.body).contains("peer"), "callers are told nothing");
    assert_eq!(caller.call(Method::HEAD, "/", &[]).await.status, 500);
    let said = log.read();
    assert!(said.contains("ERROR") && said.contains("Answered with 500"), "{said}");
    assert!(said.contains("`tollgate.wrap(service, Some(peer.ip()))`"), "{said}");
    assert_eq!(said.lines().count(), 1, "once a minute: {said}");
    assert_eq!(
        caller.get_with("/internal", TOKEN).await.status,
        200,
        "whoever is not counted needs no address"
    );
    gate.set_mode(Mode::Shadow);
    let passed = caller.get("/").await;
    assert_eq!((passed.status, passed.lines("ratelimit")), (200, vec![]), "nobody is refused in shadow mode");
}

#[tokio::test]
async fn in_shadow_mode_a_missing_peer_is_logged_too() {
    let log = Log::of_this_thread();
    let gate = Arc::new(five().0.mode(Mode::Shadow).build().unwrap());
    let make = move |_| Tollgate::new(Arc::clone(&gate)).wrap(Api::new(&gate), None);
    let caller = Caller::from(1, serve_each(make).await);
    assert_eq!(caller.statuses("/", 7).await, [200; 7]);
    assert!(log.read().contains("`tollgate.wrap(service, Some(peer.ip()))`"), "{}", log.read());
    assert!(log.read().contains("Passed uncounted, in shadow mode"), "{}", log.read());
}
