//! The standard application on axum, behind middleware that may have a flaw.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Extension, Path};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::AppendHeaders;
use axum::routing::any;
use tokio::net::TcpListener;
use tollgate_conformance::{App, OWN_FIELDS, tell};
use tollgate_http::{Decision, Gate, ServiceName};

use crate::flaw::Flaw;
use crate::middleware::{Limiter, guard, limit, throttled};

pub(crate) async fn serve(app: App, flaw: Option<Flaw>) -> SocketAddr {
    let listener = TcpListener::bind((app.listen, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = router(&app, flaw);
    if app.tells_peers {
        let make = router.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, make).await.unwrap() });
    } else {
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    }
    address
}

fn router(app: &App, flaw: Option<Flaw>) -> Router {
    let (greeting, waiting) = (Arc::clone(&app.scene), Arc::clone(&app.scene));
    let name = |Extension(name): Extension<ServiceName>| async move { name.to_string() };
    let limiter = |gate: &Arc<Gate>, rule| {
        from_fn_with_state(Arc::new(Limiter::new(Arc::clone(gate), rule, flaw)), limit)
    };
    let router = Router::new()
        .route("/internal", any(|| async { "ours" }))
        .route("/internal/name", any(name))
        .route_layer(from_fn_with_state((Arc::clone(&app.guard), flaw), guard))
        .route("/", any(move || async move { greeting.greet() }))
        .route("/echo", any(|body: Bytes| async move { body.len().to_string() }))
        .route(
            "/status/{code}",
            any(|Path(code): Path<u16>| async move { StatusCode::from_u16(code).unwrap() }),
        )
        .route("/slow", any(move || async move { waiting.slow().await }))
        .route("/fields", any(|| async { (AppendHeaders(OWN_FIELDS), "own") }))
        .route("/users/{id}", any(|Path(id): Path<String>| async move { id }))
        .route("/decision", any(decision))
        .route(
            "/throttled",
            any(throttled).with_state(Arc::new(Limiter::new(Arc::clone(&app.gate), None, flaw))),
        )
        .layer(DefaultBodyLimit::disable())
        .layer(limiter(&app.gate, app.rule));
    match &app.outer {
        Some(outer) => router.layer(limiter(outer, None)),
        None => router,
    }
}

async fn decision(decision: Option<Extension<Decision>>, headers: HeaderMap) -> String {
    let has_credential = ["x-internal-token", "authorization"].iter().any(|name| headers.contains_key(*name));
    tell(decision.as_deref(), has_credential)
}
