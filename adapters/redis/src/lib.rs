#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod batch;
mod breaker;
mod budget;
mod builder;
mod connection;
mod error;
mod figures;
mod flights;
mod gate;
mod keeper;
mod lease;
mod leases;
mod limiter;
mod limiter_builder;
mod link;
mod outage;
mod question;
mod route;
mod scripts;
mod server;
mod several;
mod store;
mod tallies;
mod time_source;
mod upkeep;

pub use breaker::State;
pub use builder::StoreBuilder;
pub use error::StoreError;
pub use gate::StoreWith;
// What the simulation in `benches` computes with.
#[doc(hidden)]
pub use leases::{Known, Leases};
pub use limiter::SharedLimiter;
pub use limiter_builder::SharedLimiterBuilder;
pub use outage::Outage;
#[cfg(feature = "tls")]
pub use redis::{ClientTlsConfig, TlsCertificates};
pub use server::Server;
pub use several::SharedLimits;
pub use store::Store;
pub use tallies::Counts;
pub use time_source::TimeSource;

/// The guide's examples are compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/several-nodes.md")]
struct Guide;
