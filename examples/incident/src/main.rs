//! The incident that tollgate comes from, played over real sockets.
//!
//! A platform's API allows 300 requests a minute from one address. Its own services call it too, from few addresses
//! and on behalf of many people, and are refused. Two acts with the same traffic: before, where the limiter knows
//! addresses alone, and after, where it knows the internal token that those services present anyway. With `--redis` there
//! is a third: three nodes that share one budget. `--serve` serves the API of the second act instead.

mod api;
mod cast;
mod client;
mod cluster;
mod exposition;
mod findings;
mod gate;
mod on;
mod options;
mod play;
mod report;
mod serve;
mod token;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use tollgate_axum::GateError;

use options::Options;
use token::Token;

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .init();
    match run(&Options::parse()) {
        Ok(code) => code,
        Err(error) => {
            // If nobody reads it, the exit code still says it.
            let _ = writeln!(io::stderr(), "incident: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, Error> {
    let token = Token::from_environment()?;
    // Settings that can't work are told before anything starts.
    gate::gate(options, Some(&token))?;
    if token.is_new() {
        say(format_args!("INTERNAL_TOKEN={token}"))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Error::Runtime)?;
    match options.serve {
        Some(address) => runtime.block_on(serve::serve(address, options, &token)),
        None => runtime.block_on(play::play(options, &token)),
    }
}

/// Prints a line. Whoever closes the pipe has read enough.
fn say(line: fmt::Arguments<'_>) -> Result<(), Error> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Print(error)),
        _ => Ok(()),
    }
}

/// What keeps the program from doing its work. Each is told in one line, and the exit code is 2.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("INTERNAL_TOKEN: {0}")]
    Token(token::TokenError),
    #[error("{0}")]
    Gate(GateError),
    #[error("INTERNAL_TOKEN: {0}; or unset it, and one is made")]
    Secret(GateError),
    #[error("can't listen on {0}: {1}; choose an address of this machine and a free port, or port 0")]
    Listen(std::net::SocketAddr, io::Error),
    #[error("can't start threads: {0}")]
    Runtime(io::Error),
    #[error("can't wait for signals: {0}")]
    Signal(io::Error),
    #[error("the server stopped: {0}")]
    Server(io::Error),
    #[error("can't count through metrics: {0}")]
    Metrics(String),
    #[error("{0}")]
    Store(#[from] tollgate_redis::StoreError),
    #[error(
        "no Redis or Valkey answers at {0}: start one, as with `redis-server --port 6379`, or leave --redis out"
    )]
    NoStore(String),
    #[error("can't print: {0}")]
    Print(io::Error),
}

/// The only secret is the internal token's.
impl From<GateError> for Error {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Secret { .. } | GateError::SecretBytes { .. } => Self::Secret(error),
            _ => Self::Gate(error),
        }
    }
}

impl From<token::TokenError> for Error {
    fn from(error: token::TokenError) -> Self {
        Self::Token(error)
    }
}
