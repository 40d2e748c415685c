//! What a limiter adds to a request in process, without a socket: ours and others' in each framework, beside the
//! framework alone. Prints a table and writes `target/adapters.tsv`.

mod actix_web;
mod axum;
mod hyper;

use std::error::Error;

use benches::floor::Floor;
use benches::rounds::{Contestant, interleaved, median};
use benches::sheet::Sheet;
use clap::Parser;

/// What a limiter adds to a request in process, beside the framework alone.
#[derive(Parser)]
struct Arguments {
    /// One short round, to see that everything runs and every request is answered as it should.
    #[arg(long)]
    test: bool,
    /// Only the subjects whose framework, work and name together contain this, for a profiler.
    #[arg(long, default_value = "")]
    only: String,
}

/// How much is measured, and what was.
struct Run {
    rounds: usize,
    requests: usize,
    only: String,
    sheet: Sheet<5>,
}

/// What requests come to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// The application answers, and the response says where the caller stands.
    Admitted,
    /// The limiter answers with 429.
    Refused,
    /// The application answers, since the request carries the secret of a service.
    Exempt,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { test, only } = Arguments::parse();
    let (rounds, requests) = if test { (1, 1 << 11) } else { (101, 1 << 12) };
    let sheet = Sheet::new(["framework", "work", "subject", "ns_per_request", "over_bare_ns"]);
    let mut run = Run { rounds, requests, only, sheet };
    for work in [Work::Admitted, Work::Refused, Work::Exempt] {
        axum::run(&mut run, work)?;
        hyper::run(&mut run, work)?;
        actix_web::run(&mut run, work)?;
    }
    run.sheet.print();
    if !test && run.only.is_empty() {
        run.sheet.write("target/adapters.tsv")?;
    }
    Ok(())
}

impl Run {
    /// Rounds of all contestants, of whom the first is the framework alone.
    fn take(
        &mut self,
        framework: &str,
        work: Work,
        mut contestants: Vec<Contestant<'_>>,
    ) -> Result<(), Box<dyn Error>> {
        let is_wanted = |subject: &str| format!("{framework} {} {subject}", work.name()).contains(&self.only);
        contestants.retain(|(subject, _)| is_wanted(subject));
        // Everybody is known, and whoever is to be refused has used the limit.
        interleaved(1, &mut contestants)?;
        let spans = interleaved(self.rounds, &mut contestants)?;
        let bare = spans.first().cloned().unwrap_or_default();
        for ((subject, _), spans) in contestants.iter().zip(spans) {
            // Round by round, so that what slows a round for all cancels out.
            let over = spans.iter().zip(&bare).map(|(with, without)| with - without).collect();
            let figures = [median(spans), median(over)].map(|nanos| format!("{nanos:.0}"));
            let [nanos, over] = figures;
            self.sheet.add([framework.into(), work.name().into(), (*subject).into(), nanos, over]);
        }
        Ok(())
    }
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Refused => "refused",
            Self::Exempt => "exempt",
        }
    }

    /// Of whoever is to be refused, each address has used its one request beforehand.
    fn limit(self) -> u32 {
        if self == Self::Refused { 1 } else { benches::apps::GENEROUS }
    }

    /// The least that a layer can cost which does the like.
    fn floors(self) -> Vec<(&'static str, Floor)> {
        match self {
            Self::Admitted => vec![
                ("a layer that does nothing", Floor::Passes(0)),
                ("one that adds two ready fields", Floor::Passes(2)),
                ("one that adds five ready fields", Floor::Passes(5)),
                ("the least limiter", Floor::Decides),
                ("the parts by hand", Floor::Parts),
            ],
            Self::Refused => vec![("a layer with a ready refusal", Floor::Refused)],
            Self::Exempt => vec![("a layer that does nothing", Floor::Passes(0))],
        }
    }

    /// The status that the limiter or the application answers with.
    fn status(self) -> u16 {
        if self == Self::Refused { 429 } else { 200 }
    }
}
