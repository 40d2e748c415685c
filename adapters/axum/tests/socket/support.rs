//! A server on a loopback port.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tollgate_axum::{Gate, RequireInternalLayer, TollgateLayer};

/// An API with a public and an internal route behind a gate.
pub(crate) fn api(gate: &Arc<Gate>) -> Router {
    Router::new()
        .route("/internal", get(|| async { "ours" }))
        .route_layer(RequireInternalLayer::new(Arc::clone(gate)))
        .route("/", get(|| async { "hello" }))
        .layer(TollgateLayer::new(Arc::clone(gate)))
}

/// Serves as a user of axum does; the server ends with the test's runtime.
pub(crate) async fn serve(app: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}
