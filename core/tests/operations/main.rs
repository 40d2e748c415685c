//! Everything a limiter does beside deciding on one request, for each kind of quota.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

mod figures;
mod refunds;
mod support;
