//! The ways in which a server is reached, and what nodes notice about each other.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

#[path = "../support/mod.rs"]
mod support;

#[cfg(feature = "cluster")]
mod cluster;
mod nodes;
#[cfg(feature = "sentinel")]
mod sentinel;
mod several;
#[cfg(feature = "tls")]
mod tls;
mod users;
