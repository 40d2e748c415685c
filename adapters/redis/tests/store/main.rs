//! Nodes with a real server, which each test starts for itself. Where there is no `redis-server`, a test says so and
//! passes, unless the variable CI is set.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod leases;
mod properties;
mod refunds;
#[path = "../support/mod.rs"]
mod support;
mod vectors;
