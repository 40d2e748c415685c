//! The adapter over real sockets, HTTP/1 and HTTP/2. The clock is moved by hand, so no test sleeps.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod behaviour;
mod bodies;
mod guard;
mod http2;
mod misconfigured;
mod servers;
mod support;
mod terms;
