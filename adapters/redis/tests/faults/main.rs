//! What happens to the server must not happen to callers: each fault, with each policy.

#[path = "../support/mod.rs"]
mod support;

mod deaths;
mod losses;
mod slowness;
