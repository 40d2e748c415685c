//! The gate as an adapter sees it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod answers;
mod building;
mod callers;
mod changes;
mod incident;
#[path = "../log/mod.rs"]
mod log;
mod policies;
mod shared;
mod sources;
mod support;
mod terms;
mod watching;
