//! The adapter over real sockets. The clock is moved by hand, so no test sleeps.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod behaviour;
mod errors;
mod guard;
mod instance;
mod nested;
mod outcomes;
mod places;
mod support;
