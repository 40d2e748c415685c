#![doc = include_str!("../README.md")]
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
mod store;

pub use adapter::{Adapter, Lack};
pub use app::{App, OWN_FIELDS, TOKEN, tell};
pub use caller::{Caller, HEADER, Received, five};
pub use case::Case;
pub use cases::CASES;
pub use log::Log;
pub use report::{Outcome, Report};
pub use rule::Rule;
pub use run::{conform, run};
pub use scene::Scene;
pub use store::{Behaves, Store};

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
