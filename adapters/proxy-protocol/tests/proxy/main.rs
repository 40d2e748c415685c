//! Headers, however they arrive, and what is refused. Deadlines pass on a paused clock, so no test sleeps.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod building;
mod headers;
mod refused;
mod sockets;
mod splits;
mod support;
