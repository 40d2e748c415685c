//! tollgate for actix-web.
//!
//! # What
//! [`Tollgate`] refuses whoever is over the limit with `429 Too Many Requests` and tells everybody else where it
//! stands; your own services pass by their credentials. [`Decided`] hands the decision to a handler, and
//! [`RequireInternal`] and [`RequireInternalLayer`] keep routes for your own services, by the same check. Everything
//! is decided by a [`Gate`], which is built once and shared by all workers.
//!
//! # Example
//! ```no_run
//! use std::sync::Arc;
//!
//! use actix_web::{App, HttpServer, web};
//! use tollgate_actix_web::{Decided, Gate, GateError, Quota, RequireInternalLayer, Tollgate};
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
//! # #[actix_web::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Outside of the closure, which runs once for each worker.
//! let gate = gate(&std::env::var("INTERNAL_TOKEN")?)?;
//! let app = move || {
//!     let domains = web::scope("/internal")
//!         .wrap(RequireInternalLayer::new(gate.clone()))
//!         .route("/domains/{domain}", web::get().to(|| async { "app-7" }));
//!     App::new()
//!         .service(domains)
//!         .route("/caller", web::get().to(caller))
//!         .wrap(Tollgate::new(gate.clone()))
//! };
//! HttpServer::new(app).bind("0.0.0.0:8080")?.run().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Order
//! For each request that reaches the middleware:
//! 1. Its [terms](Tollgate::terms), if there are any: what it costs, whose budget it uses, or that it is skipped.
//! 2. A valid credential in the gate's field: the request passes uncounted, and its response carries no fields.
//! 3. Otherwise the caller is charged, which is the peer's address unless the gate or the terms say another. The peer
//!    comes from the socket, never from actix-web's `ConnectionInfo`, which believes any client; without it (on a Unix
//!    socket) the answer is 500, and the log names the remedy.
//! 4. Over the limit: 429 at once, and the application does not see the request. A forged credential is no
//!    exception, so a forger gets 401 from internal routes while its budget lasts, and then 429.
//! 5. Otherwise the application answers. The charge stays or is given back, as [`GateBuilder::charge_if`] says, and the
//!    response gets the fields `RateLimit-Policy` and `RateLimit`. If it has them already they are added to; nothing is
//!    overwritten.
//!
//! Of two `wrap`s the later one sees a request first: what leaves something for the terms comes after [`Tollgate`]. A
//! request that passes two of one gate is counted twice. Of two gates, each counts what reaches it, and the outer one
//! gives back what the inner one refuses if [`GateBuilder::refund_inner_refusals`] is set. Where requests must keep several
//! limits at once, let one gate have several policies ([`GateBuilder::policy`]).
//!
//! # Errors of the application
//! What a handler or an extractor returns as an error is a response by the time it gets here. An error of middleware
//! inside stays the error that it is. Whoever makes its response settles the request, by that response's status, and the
//! response gets the fields. If nobody makes it, since a middleware outside answers something else, the request stays
//! charged. It is under way until then.
//!
//! # Clients that go away
//! A client that resets its connection, or of which nothing more is read where `HttpServer::h1_allow_half_closed(false)`
//! is set, has its request dropped: it stays charged and is no longer under way. By default actix-web answers a client
//! that has closed all the same, since it may have closed its own side alone, and the request is settled as any other.
//! So it does over HTTP/2, where it runs each request to its end, whatever becomes of the stream.
//!
//! # Deployment caveat
//! Behind a proxy the peer is the proxy, and all its callers share one budget, unless the gate is told which field names
//! them and whom to trust: [`GateBuilder::source`], and the guide
//! [Behind a proxy](https://github.com/tollgate-rs/tollgate/blob/main/docs/behind-a-proxy.md). The PROXY protocol can't be
//! had here: `HttpServer` takes no listeners but its own.
//!
//! # Not here
//! Waiting until a request is admitted. A server that lets the refused wait holds a connection for each, which is what
//! an attacker wants; it answers when to come back instead.

mod decided;
mod future;
mod head;
mod internal;
mod peer;
mod response;
mod service;
mod tollgate;

pub use decided::{Decided, Undecided};
pub use future::ResponseFuture;
pub use head::Head;
pub use internal::{NoGate, NotInternal, RequireInternal, RequireInternalLayer, RequireInternalService};
pub use service::TollgateService;
pub use tollgate::Tollgate;
pub use tollgate_http::{
    Answer, Basis, ChangeError, Clock, Decision, Gate, GateBuilder, GateError, Identity, Keyer, ManualClock,
    Mode, Nanos, Origin, Overflow, Policy, Quota, Reason, Refusal, RefusalBody, ServiceName, Source,
    Standing, Terms, Verdict,
};

/// The README's example is compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// So are those for who comes from another limiter.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/moving-from-actix.md")]
struct Moving;
