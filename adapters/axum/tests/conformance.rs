//! The suite that every adapter passes, with axum's own server.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path};
use axum::http::{HeaderMap, StatusCode};
use axum::response::AppendHeaders;
use axum::routing::any;
use tokio::net::TcpListener;
use tollgate_axum::{Decided, RequireInternal, RequireInternalLayer, TollgateLayer, throttled};
use tollgate_conformance::{Adapter, App, OWN_FIELDS, conform, tell};

struct Axum;

impl Adapter for Axum {
    const NAME: &'static str = "axum";

    async fn serve(&self, app: App) -> SocketAddr {
        let listener = TcpListener::bind((app.listen, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = router(&app);
        if app.tells_peers {
            let make = router.into_make_service_with_connect_info::<SocketAddr>();
            tokio::spawn(async move { axum::serve(listener, make).await.unwrap() });
        } else {
            tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        }
        address
    }
}

fn router(app: &App) -> Router {
    let (greeting, waiting) = (Arc::clone(&app.scene), Arc::clone(&app.scene));
    let router = Router::new()
        .route("/internal", any(|| async { "ours" }))
        .route_layer(RequireInternalLayer::new(Arc::clone(&app.guard)))
        .route(
            "/internal/name",
            any(|RequireInternal(name): RequireInternal| async move { name.to_string() }),
        )
        .route("/", any(move || async move { greeting.greet() }))
        .route("/echo", any(|body: Bytes| async move { body.len().to_string() }))
        .route("/status/{code}", any(status))
        .route("/slow", any(move || async move { waiting.slow().await }))
        .route("/fields", any(|| async { (AppendHeaders(OWN_FIELDS), "own") }))
        .route("/users/{id}", any(|Path(id): Path<String>| async move { id }))
        .route("/decision", any(decision))
        .route("/throttled", throttled(Arc::clone(&app.gate)))
        .layer(DefaultBodyLimit::disable())
        .layer(layer(app));
    let router = match &app.outer {
        Some(outer) => router.layer(TollgateLayer::new(Arc::clone(outer))),
        None => router,
    };
    router.with_state(Arc::clone(&app.guard))
}

fn layer(app: &App) -> TollgateLayer {
    let layer = TollgateLayer::new(Arc::clone(&app.gate));
    match app.rule {
        None => layer,
        Some(rule) => layer.terms(move |head, terms| {
            let field = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
            rule.terms(head.matched_path(), head.method.as_str(), field, terms)
        }),
    }
}

async fn status(Path(code): Path<u16>) -> StatusCode {
    StatusCode::from_u16(code).unwrap()
}

async fn decision(decided: Option<Decided>, headers: HeaderMap) -> String {
    let has_credential = ["x-internal-token", "authorization"].iter().any(|name| headers.contains_key(*name));
    tell(decided.as_ref().map(|Decided(decision)| decision), has_credential)
}

#[test]
fn conforms() {
    conform(Axum);
}
