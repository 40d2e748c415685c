//! The adapter over real sockets, HTTP/1 and HTTP/2. The clock is moved by hand, so no test sleeps.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod answers;
mod behaviour;
mod bodies;
mod guard;
mod http2;
mod incident;
mod misconfigured;
mod servers;
mod settled;
mod support;
mod terms;
