//! The program: settings, logs, a replay, and what came of it. The crate's README shows it at work.

mod charts;
mod figures;
mod options;
mod page;
mod plan;
mod progress;
mod settings;
mod summary;
mod traffic;

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tollgate_replay::{Format, Inputs, Outcome, Replay};

use options::{Known, Options};
use plan::Plan;
use progress::Progress;
use summary::Summary;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(code) => code,
        Err(error) => {
            // If nobody reads it, the exit code still says it.
            let _ = writeln!(io::stderr(), "tollgate-replay: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, Error> {
    if options.generate.is_some() {
        let format = options.format.map_or(Format::Combined, Known::format);
        unless_closed(traffic::incident(&format, &mut BufWriter::new(io::stdout().lock())))?;
        return Ok(ExitCode::SUCCESS);
    }
    if options.logs.is_empty() && io::stdin().is_terminal() {
        return Err(Error::NoLog);
    }
    if let Some(path) = &options.html
        && !page::may_be_at(path).map_err(|error| Error::Html(path.clone(), error))?
    {
        return Err(Error::NoReport(path.clone()));
    }
    let outcome = replay(options)?;
    let mut out = io::stdout().lock();
    unless_closed(if options.json {
        serde_json::to_writer_pretty(&mut out, &outcome).map_err(io::Error::from).and_then(|()| writeln!(out))
    } else {
        write!(out, "{}", Summary(&outcome))
    })?;
    if let Some(path) = &options.html {
        fs::write(path, page::page(&outcome)?).map_err(|error| Error::Html(path.clone(), error))?;
    }
    tell_trouble(&outcome);
    Ok(match () {
        () if options.fail_if_own_refused && outcome.own_is_refused() => ExitCode::from(1),
        () if outcome.has_trouble() => ExitCode::from(2),
        () => ExitCode::SUCCESS,
    })
}

fn replay(options: &Options) -> Result<Outcome, Error> {
    let Plan { places, format, policies, prefixes, eyes } = Plan::new(options)?;
    let (services, keyer) = (eyes.owns.names(), eyes.keyer.clone());
    let mut replay = Replay::new(policies, prefixes, services, options.most_callers, keyer)?;
    let progress = Progress::new(&places);
    let mut inputs = Inputs::new(places, format, &eyes);
    let mut lines = 0_u64;
    while let Some(entry) = inputs.next(&eyes) {
        replay.push(entry);
        lines += 1;
        if lines.is_multiple_of(TOLD_EVERY) {
            progress.tell(inputs.bytes(), lines);
        }
    }
    progress.finish();
    replay.finish();
    let share = options.suggest.then_some(options.refuse_at_most);
    Ok(Outcome::new(&replay, inputs.into_readings(), share))
}

/// What could not be read is told even where the summary is not looked at.
fn tell_trouble(outcome: &Outcome) {
    for reading in &outcome.inputs {
        if let Some(trouble) = &reading.trouble {
            // If nobody reads it, the exit code still says it.
            let _ = writeln!(io::stderr(), "tollgate-replay: {}: {trouble}", reading.name);
        }
    }
    if outcome.requests == 0 {
        let _ = writeln!(io::stderr(), "tollgate-replay: no request was found");
    }
}

/// Whoever closes the pipe has read enough.
fn unless_closed(written: io::Result<()>) -> Result<(), Error> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Print(error)),
        _ => Ok(()),
    }
}

/// How many lines pass between two looks at the clock.
const TOLD_EVERY: u64 = 1 << 16;

/// What keeps the program from doing its work. Each is told in one line, and the exit code is 2.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(
        "name a log, or pipe one in; --help tells more, and --generate incident writes a log to try it on"
    )]
    NoLog,
    #[error("can't read the settings {}: {}", .0.display(), .1)]
    ReadSettings(PathBuf, io::Error),
    #[error(
        "{}: {}(a policy begins with [[policy]], and texts are in quotes, as in limit = \"300/min\" and own = [\"edge=10.0.0.0/8\"])",
        .0.display(), .1
    )]
    Settings(PathBuf, Box<toml::de::Error>),
    #[error("{0} is named twice, so its requests would count twice: name it once")]
    Twice(String),
    #[error("--fail-if-own-refused has to know your services: name them with --own NAME=MATCH")]
    NoOwn,
    #[error("{0}: {1}")]
    Quota(String, tollgate::QuotaError),
    #[error("a burst is of gcra and promise: leave --burst away, or choose one of these with --algorithm")]
    Burst,
    #[error("two policies are called {0}: give one of them another name")]
    SameName(String),
    #[error("more than {} policies at once: try them in turn", plan::MOST_POLICIES)]
    TooManyPolicies,
    #[error("{0}")]
    Origin(#[from] tollgate::OriginError),
    #[error("{0}")]
    Owns(#[from] tollgate_replay::OwnsError),
    #[error("{0}")]
    Build(#[from] tollgate::BuildError),
    #[error("can't make the report: {0}")]
    Page(#[from] askama::Error),
    #[error("can't write the report {}: {}", .0.display(), .1)]
    Html(PathBuf, io::Error),
    #[error("{} is there, and is no report: give --html the name of another file", .0.display())]
    NoReport(PathBuf),
    #[error("can't print: {0}")]
    Print(io::Error),
}
