//! Routes for our own services.

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::http::Method;
use axum::routing::get;
use tollgate_axum::{Gate, RequireInternal, RequireInternalLayer};
use tollgate_conformance::{Caller, HEADER, TOKEN, five};

use crate::support::serve;

/// An application's state, of which the gate is a part.
#[derive(Clone)]
struct State {
    gate: Arc<Gate>,
}

impl FromRef<State> for Arc<Gate> {
    fn from_ref(state: &State) -> Self {
        Arc::clone(&state.gate)
    }
}

async fn hello(RequireInternal(service): RequireInternal) -> String {
    format!("hello, {service}")
}

#[tokio::test]
async fn the_extractor_needs_no_layer() {
    let gate = Arc::new(five().0.build().unwrap());
    let app = Router::new().route("/", get(hello)).with_state(State { gate });
    let caller = Caller::from(1, serve(app).await);
    assert_eq!(caller.get_with("/", TOKEN).await.body, "hello, edge");
    for _ in 0..20 {
        assert_eq!(caller.get("/").await.status, 401, "a guard alone limits nobody");
    }
    let forged = caller.get_with("/", "made up").await;
    assert_eq!(forged.status, 401);
    assert_eq!(forged.lines("www-authenticate"), [r#"Token realm="internal", header="x-internal-token""#]);
    assert_eq!(caller.call(Method::GET, "/", &[(HEADER, TOKEN), (HEADER, TOKEN)]).await.status, 401);
}

#[tokio::test]
async fn the_layer_needs_no_other() {
    let guard = RequireInternalLayer::new(five().0.bearer().build().unwrap());
    let app = Router::new().route("/", get(|| async { "ours" })).route_layer(guard);
    let caller = Caller::from(1, serve(app).await);
    let bearer = format!("bearer {TOKEN}");
    assert_eq!(caller.call(Method::GET, "/", &[("authorization", &bearer)]).await.status, 200);
    let plain = caller.get_with("/", TOKEN).await;
    assert_eq!((plain.status, plain.lines("www-authenticate")), (401, vec![r#"Bearer realm="internal""#]));
}
