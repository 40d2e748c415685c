//! The suite that every adapter passes, with axum's own server.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{AppendHeaders, Response};
use axum::routing::any;
use axum::{Router, ServiceExt};
use tokio::net::TcpListener;
use tollgate_axum::{Decided, RequireInternal, RequireInternalLayer, TollgateLayer, throttled};
use tollgate_conformance::{Adapter, App, OWN_FIELDS, conform, tell};
use tower::{Layer, Service};

struct Axum;

impl Adapter for Axum {
    const NAME: &'static str = "axum";

    async fn serve(&self, app: App) -> SocketAddr {
        let listener = TcpListener::bind((app.listen, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = router(&app);
        // The outer one is around the router, and the other one is one of its layers.
        match &app.outer {
            Some(outer) => {
                let around = TollgateLayer::new(Arc::clone(outer)).layer(router);
                tokio::spawn(serve(listener, around, app.tells_peers));
            }
            None => drop(tokio::spawn(serve(listener, router, app.tells_peers))),
        }
        address
    }
}

async fn serve<S>(listener: TcpListener, service: S, tells_peers: bool)
where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    if tells_peers {
        axum::serve(listener, service.into_make_service_with_connect_info::<SocketAddr>()).await.unwrap();
    } else {
        axum::serve(listener, service.into_make_service()).await.unwrap();
    }
}

fn router(app: &App) -> Router {
    let (greeting, waiting) = (Arc::clone(&app.scene), Arc::clone(&app.scene));
    Router::new()
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
        .layer(layer(app))
        .with_state(Arc::clone(&app.guard))
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
