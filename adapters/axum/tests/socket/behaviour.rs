//! What callers and handlers see.

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderValue;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use axum::routing::get;
use tollgate_axum::{Decision, Mode, Reason, TollgateLayer, Verdict};
use tollgate_conformance::{Caller, five};

use crate::support::{api, serve};

// Abuse 33: clones, layers and routers share one budget; dropping one changes nothing.
#[tokio::test]
async fn whoever_holds_the_gate_shares_its_budgets() {
    let gate = Arc::new(five().0.build().unwrap());
    let layer = TollgateLayer::new(Arc::clone(&gate));
    let route = || get(|| async { "hello" });
    let one = Router::new().route("/a", route().layer(layer.clone())).route("/b", route().layer(layer));
    let (first, second) = (serve(one).await, serve(api(&gate)).await);
    drop(TollgateLayer::new(Arc::clone(&gate)));
    let mut statuses = Vec::new();
    for (server, path) in [(first, "/a"), (first, "/b"), (second, "/"), (first, "/a"), (second, "/")] {
        // A new connection each time.
        statuses.extend(Caller::from(1, server).statuses(path, 1).await);
    }
    assert_eq!(statuses, [200; 5]);
    assert_eq!(Caller::from(1, first).statuses("/b", 1).await, [429]);
    assert_eq!(Caller::from(1, second).statuses("/", 1).await, [429]);
}

#[tokio::test]
async fn outer_layers_learn_who_was_refused_and_why() {
    async fn note(request: axum::extract::Request, next: Next) -> impl IntoResponse {
        let mut response = next.run(request).await;
        let verdict = response.extensions().get().and_then(Decision::verdict);
        if let Some(Verdict::Refused(refusal)) = verdict {
            assert_eq!(refusal.reason, Reason::OverLimit);
            response.headers_mut().insert("x-noted", HeaderValue::from_static("over limit"));
        }
        response
    }
    let gate = Arc::new(five().0.build().unwrap());
    let caller = Caller::from(1, serve(api(&gate).layer(from_fn(note))).await);
    for _ in 0..5 {
        assert_eq!(caller.get("/").await.lines("x-noted"), [""; 0]);
    }
    for (mode, status, noted) in [
        (Mode::Enforce, 429, vec!["over limit"]),
        (Mode::Shadow, 200, vec!["over limit"]),
        (Mode::Off, 200, vec![]),
    ] {
        gate.set_mode(mode);
        let reply = caller.get("/").await;
        assert_eq!((reply.status, reply.lines("x-noted")), (status, noted), "{mode:?}");
    }
}
