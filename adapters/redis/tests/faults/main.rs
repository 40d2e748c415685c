//! What happens to the server must not happen to callers: each fault, with each policy.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

#[path = "../support/mod.rs"]
mod support;

mod deaths;
mod losses;
mod slowness;
