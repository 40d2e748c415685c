//! One suite over real sockets, which every adapter of tollgate passes with its own server.
//!
//! # What
//! An [`Adapter`] serves the standard application, an [`App`] whose gates and terms the suite chooses. [`conform`] calls
//! it as strangers and as services do, over sockets alone: byte-exact HTTP/1.1 from one loopback address for each caller,
//! and HTTP/2 by prior knowledge. The clock is moved by hand, and what has to wait waits for a signal, so nothing
//! sleeps. Every structured field of every response goes through an independent parser (RFC 9651).
//!
//! The result is a table in `target/conformance`, one line for each [`Case`]; `ci/conformance` shows those of all
//! adapters side by side. What a framework can't do, its adapter names as a [`Lack`], with the reason.
//!
//! For tests of one adapter alone there are a [`Caller`] and a gate of [`five`] requests a minute.
//!
//! # Example
//! A test of an adapter, without its routes:
//! ```no_run
//! use std::net::SocketAddr;
//! use tollgate_conformance::{Adapter, App, conform};
//!
//! struct Framework;
//!
//! impl Adapter for Framework {
//!     const NAME: &'static str = "framework";
//!
//!     async fn serve(&self, app: App) -> SocketAddr {
//!         let listener = tokio::net::TcpListener::bind((app.listen, 0)).await.expect("a free port");
//!         let address = listener.local_addr().expect("it is bound");
//!         // Spawn the server here.
//!         address
//!     }
//! }
//!
//! conform(Framework);
//! ```

#![expect(clippy::unwrap_used, reason = "this is a test: what can't go on has failed")]

mod adapter;
mod app;
mod caller;
mod case;
mod cases;
mod caught;
mod http1;
mod http2;
mod log;
mod reply;
mod report;
mod request;
mod rule;
mod run;
mod scene;
mod sound;
mod stage;

pub use adapter::{Adapter, Lack};
pub use app::{App, OWN_FIELDS, TOKEN, tell};
pub use caller::{Caller, HEADER, Received, five};
pub use case::Case;
pub use cases::CASES;
pub use report::{Outcome, Report};
pub use rule::Rule;
pub use run::{conform, run};
pub use scene::Scene;

/// The examples of the guides that are for all adapters, or for actix-web. (Others are in the crates whose features or
/// dependencies they need.)
#[cfg(doctest)]
#[doc = include_str!("../../../docs/choosing-a-quota.md")]
#[doc = include_str!("../../../docs/getting-started.md")]
#[doc = include_str!("../../../docs/moving-from-actix.md")]
#[doc = include_str!("../../../docs/moving-from-express-rate-limit.md")]
#[doc = include_str!("../../../docs/own-services.md")]
#[doc = include_str!("../../../docs/sizing.md")]
#[doc = include_str!("../../../docs/watching.md")]
struct Guides;
