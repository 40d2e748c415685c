//! The replay against obvious models of what it does, and the program as people run it.

mod bad_input;
mod browser;
mod formats;
mod inputs;
mod model;
mod program;
mod real_log;
mod suggest;
mod support;
