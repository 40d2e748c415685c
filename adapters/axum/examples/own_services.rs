//! An API that holds each address to 300 requests a minute, and its own service to none.
//!
//! `INTERNAL_TOKEN=$(openssl rand -hex 32) cargo run -p tollgate-axum --example own_services`

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tollgate_axum::{Decided, Gate, GateError, Quota, RequireInternalLayer, TollgateLayer};

/// The limiter's settings, all of them.
fn gate(token: &str) -> Result<Arc<Gate>, GateError> {
    Gate::builder(Quota::per_minute(300)).service("edge", token).build().map(Arc::new)
}

/// Who calls, and where it stands.
async fn caller(Decided(decision): Decided) -> String {
    match (decision.identity().service(), decision.origin()) {
        (Some(service), _) => format!("hello, {service}\n"),
        (None, Some(origin)) => format!("hello, {origin}\n"),
        (None, None) => "hello\n".into(),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let token = std::env::var("INTERNAL_TOKEN").map_err(|_| "set INTERNAL_TOKEN, as the first lines say")?;
    let gate = gate(&token)?;
    let app = Router::new()
        .route("/internal/domains/{domain}", get(|| async { "app-7\n" }))
        .route_layer(RequireInternalLayer::new(Arc::clone(&gate)))
        .route("/", get(caller))
        .layer(TollgateLayer::new(gate));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    println!("curl -i localhost:8080, with and without -H \"x-internal-token: $INTERNAL_TOKEN\"");
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
