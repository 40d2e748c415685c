//! tollgate for axum and for any tower stack.
//!
//! # What
//! [`TollgateLayer`] refuses whoever is over the limit with `429 Too Many Requests` and tells everybody else where it
//! stands; your own services pass by their credentials. [`Decided`] hands the decision to a handler, and
//! [`RequireInternal`] and [`RequireInternalLayer`] keep routes for your own services, by the same check. Everything
//! is decided by a [`Gate`], which is built once and shared.
//!
//! # Example
//! ```no_run
//! use std::net::SocketAddr;
//! use std::sync::Arc;
//!
//! use axum::{Router, routing::get};
//! use tollgate_axum::{Decided, Gate, GateError, Quota, RequireInternalLayer, TollgateLayer};
//!
//! /// The limiter's settings, all of them.
//! fn gate(edge_secret: &str) -> Result<Arc<Gate>, GateError> {
//!     Gate::builder(Quota::per_minute(300)).service("edge", edge_secret).build().map(Arc::new)
//! }
//!
//! async fn caller(Decided(decision): Decided) -> String {
//!     decision.origin().map(|origin| origin.to_string()).unwrap_or_default()
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let gate = gate(&std::env::var("INTERNAL_TOKEN")?)?;
//! let app = Router::new()
//!     .route("/internal/domains/{domain}", get(|| async { "app-7" }))
//!     .route_layer(RequireInternalLayer::new(gate.clone()))
//!     .route("/caller", get(caller))
//!     .layer(TollgateLayer::new(gate));
//! let listener = tokio::net::TcpListener::bind("0.0.0.0:8080").await?;
//! axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Order
//! For each request that reaches the layer:
//! 1. Its [terms](TollgateLayer::terms), if there are any: what it costs, whose budget it uses, or that it is skipped.
//! 2. A valid credential in the gate's field: the request passes uncounted, and its response carries no fields.
//! 3. Otherwise the caller is charged, which is the peer's address unless the gate or the terms say another. The peer
//!    comes from [`ConnectInfo<SocketAddr>`](ConnectInfo) (or [`ConnectInfo<Peer>`](Peer), or axum's `MockConnectInfo`);
//!    without it the answer is 500, and the log names `into_make_service_with_connect_info::<SocketAddr>()`.
//! 4. Over the limit: 429 at once, and the application does not see the request. A forged credential is no
//!    exception, so a forger gets 401 from internal routes while its budget lasts, and then 429.
//! 5. Otherwise the application answers. The charge stays or is given back, as [`GateBuilder::charge_if`] says, and the
//!    response gets the fields `RateLimit-Policy` and `RateLimit`. If it has them already they are added to; nothing is
//!    overwritten.
//!
//! A request that passes two layers of one gate is counted twice. Of two gates, each counts what reaches it, also what the
//! inner one refuses, unless the outer one is told to give that back ([`GateBuilder::refund_inner_refusals`]). Where
//! requests must keep several limits at once, let one gate have several policies ([`GateBuilder::policy`]).
//!
//! # Deployment caveat
//! Behind a proxy the peer is the proxy, and all its callers share one budget, unless the gate is told which field names
//! them and whom to trust: [`GateBuilder::source`], and the guide
//! [Behind a proxy](https://github.com/tollgate-rs/tollgate/blob/main/docs/behind-a-proxy.md). With the feature
//! `proxy-protocol`, `ProxyListener` serves behind a proxy that tells each connection's caller by the PROXY protocol.
//!
//! # Any tower stack
//! The layer needs a response body that is `From<Bytes>`: axum's is, and so is `http_body_util::Full<Bytes>`. For
//! another, put `tower_http::map_response_body::MapResponseBodyLayer::new(axum::body::Body::new)` inside it. Whoever
//! accepts connections puts [`ConnectInfo`] with the peer's address into each request's extensions.
//!
//! # gRPC
//! A request of content type `application/grpc` is refused with the status `RESOURCE_EXHAUSTED` and the time after which
//! the client may retry. Of tonic, make an axum router (`Routes::into_axum_router`) and serve it as any other; or put the
//! layer on tonic's own server between two that translate the peer and the body, as in this crate's `tests/grpc.rs`.
//!
//! # Not here
//! Waiting until a request is admitted. A server that lets the refused wait holds a connection for each, which is what
//! an attacker wants; it answers when to come back instead. A client or a worker that limits itself has
//! [`Refusal::retry_after`] to sleep for.

mod decided;
mod future;
mod head;
mod internal;
mod layer;
mod peer;
#[cfg(feature = "proxy-protocol")]
mod proxy;
mod service;

pub use axum::extract::ConnectInfo;
pub use decided::{Decided, Undecided};
pub use future::ResponseFuture;
pub use head::Head;
pub use internal::{NotInternal, RequireInternal, RequireInternalLayer, RequireInternalService};
pub use layer::TollgateLayer;
pub use peer::Peer;
#[cfg(feature = "proxy-protocol")]
pub use proxy::ProxyListener;
pub use service::Tollgate;
pub use tollgate_http::{
    Answer, Basis, ChangeError, Clock, Decision, Gate, GateBuilder, GateError, Identity, Keyer, ManualClock,
    Mode, Nanos, Origin, Overflow, Policy, Quota, Reason, Refusal, RefusalBody, ServiceName, Source,
    Standing, Terms, Verdict,
};
#[cfg(feature = "proxy-protocol")]
pub use tollgate_proxy_protocol::{
    HandshakeError, Proxied, ProxyProtocol, ProxyProtocolBuilder, ProxyProtocolError,
};

/// The README's examples are compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So are those of the crate's own.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct OwnReadme;

/// The guide's, too; one needs the feature.
#[cfg(all(doctest, feature = "proxy-protocol"))]
#[doc = include_str!("../../../docs/behind-a-proxy.md")]
struct BehindAProxy;

/// And those for who comes from another limiter.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/moving.md")]
struct Moving;
