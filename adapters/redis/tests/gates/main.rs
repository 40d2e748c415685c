//! Gates whose budgets are in a store, behind axum, over sockets and with a server of their own.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

#[path = "../support/mod.rs"]
mod support;

mod apps;
mod budgets;
mod outages;

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::routing::get;
use tollgate_axum::{Gate, GateBuilder, Quota, TollgateLayer};
use tollgate_http::SharedStore;

pub(crate) const TOKEN: &str = "the-internal-token-of-32-bytes..";

/// A gate of so many requests an hour, so that no window ends during a test.
pub(crate) fn gate(limit: u32, store: impl SharedStore) -> GateBuilder {
    Gate::builder(Quota::per_hour(limit)).service("edge", TOKEN).shared(store)
}

/// An app of its own behind a gate of its own; it ends with the test's runtime.
pub(crate) async fn serve(gate: GateBuilder) -> SocketAddr {
    let app = Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/fails", get(|| async { axum::http::StatusCode::BAD_GATEWAY }))
        .layer(TollgateLayer::new(gate.build().unwrap()));
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}
