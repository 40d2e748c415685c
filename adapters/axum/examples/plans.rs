//! Users by plan, strangers by address, exports that cost more, a health check that costs nothing, and a limit for a
//! whole network beside each caller's: `cargo run -p tollgate-axum --example plans`

use std::net::SocketAddr;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use tollgate_axum::{Gate, GateError, Policy, Quota, TollgateLayer};

/// What authentication found out.
#[derive(Clone)]
struct User {
    id: String,
    pays: bool,
}

fn layer() -> Result<TollgateLayer, GateError> {
    let gate = Gate::builder(Quota::per_minute(60))
        .class("paid", Quota::per_minute(1_000).burst(100))
        .policy(Policy::new("network", Quota::per_minute(10_000)).v4_prefix(24).v6_prefix(48))
        .build()?;
    Ok(TollgateLayer::new(gate).terms(|head, terms| {
        let terms = match head.extensions.get::<User>() {
            Some(user) if user.pays => terms.caller(&user.id).class("paid"),
            Some(user) => terms.caller(&user.id),
            None => terms,
        };
        match head.matched_path() {
            Some("/health") => terms.skip(),
            Some("/export") => terms.cost(10),
            _ => terms,
        }
    }))
}

/// Stands for your own authentication: it must know whoever it names.
async fn authenticate(mut request: Request, next: Next) -> Response {
    if request.headers().get("authorization").is_some_and(|value| value == "Bearer ada") {
        request.extensions_mut().insert(User { id: "ada".into(), pays: true });
    }
    next.run(request).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let app = Router::new()
        .route("/", get(|| async { "hello\n" }))
        .route("/export", get(|| async { "everything\n" }))
        .route("/health", get(|| async { "well\n" }))
        .layer(layer()?)
        .layer(from_fn(authenticate));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    println!("curl -i localhost:8080/export, with and without -H 'authorization: Bearer ada'");
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
