//! The caller's address behind proxies: vectors, a slow oracle, what callers can't change, and how it is configured.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

mod abuse;
mod bounds;
mod configuration;
mod notation;
mod oracle;
mod properties;
mod vectors;
