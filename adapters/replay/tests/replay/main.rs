//! The replay against obvious models of what it does, and the program as people run it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod bad_input;
mod browser;
mod formats;
mod inputs;
mod model;
mod program;
mod real_log;
mod settings;
mod suggest;
mod support;
