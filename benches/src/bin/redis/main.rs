//! One budget over three nodes and a server of this program's own: leases beside one round trip a decision, beside
//! `actix-limitation` and beside a plain script that counts, in one interleaved run.

mod server;
mod subjects;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use benches::{Report, percent};
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use server::OwnServer;
use subjects::{NODES, Subject};

const CALLERS: u32 = 100_000;
/// Requests under way at once, on all nodes.
const TASKS: u64 = 96;
/// Never reached.
const AMPLE: u32 = 4_000_000;
const LIMIT: u32 = 300;
const ROUNDS: u64 = 3;
/// Callers whose last requests are looked at.
const TRIALS: u64 = 50;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let server = OwnServer::start()?;
    let began = Instant::now();
    let codes = [
        speeds(&server, "one hot caller, never refused", AMPLE, 1, true).await?,
        speeds(&server, "one hot caller, 300 an hour", LIMIT, 1, true).await?,
        speeds(&server, "Zipf(1.0) over 100,000 callers, 300 an hour", LIMIT, CALLERS, false).await?,
        stranded(&server).await?,
    ];
    println!("{:.0} s", began.elapsed().as_secs_f64());
    Ok(if codes.contains(&ExitCode::FAILURE) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Decisions a second and round trips a decision of each; in the promised case ours are held to their targets.
async fn speeds(
    server: &OwnServer,
    title: &str,
    limit: u32,
    callers: u32,
    promised: bool,
) -> Result<ExitCode, Box<dyn Error>> {
    let address = server.address();
    let name = format!("c{callers}.{limit}");
    let subjects = [
        ("tollgate, leases", Subject::leases(&address, &format!("l{name}"), limit).await?, 400_000),
        ("tollgate, strict", Subject::strict(&address, &format!("s{name}"), limit).await?, 60_000),
        ("a script that counts", Subject::incr(&address).await?, 60_000),
        ("actix-limitation", Subject::actix_limitation(&address, limit)?, 6_000),
    ];
    let subjects = subjects.map(|(name, subject, decisions)| (name, Arc::new(subject), decisions));
    let before = subjects.each_ref().map(|(_, subject, _)| subject.trips());
    let mut spans = [Duration::ZERO; 4];
    let ranks = Arc::new(WeightedIndex::new((1..=callers).map(|rank| 1.0 / f64::from(rank)))?);
    for round in 0..ROUNDS {
        for ((_, subject, decisions), span) in subjects.iter().zip(&mut spans) {
            *span += drive(subject, &ranks, *decisions, round).await?;
        }
    }
    let mut report = Report::new(title);
    let mut rates = [0.0; 4];
    for ((((name, subject, decisions), span), before), rate) in
        subjects.iter().zip(&spans).zip(before).zip(&mut rates)
    {
        let decisions = decisions * ROUNDS;
        let trips = subject.trips() - before;
        *rate = ratio(decisions, 1) / span.as_secs_f64();
        report.told(&format!("{name}: decisions a second"), &format!("{:.0}", *rate));
        let each = ratio(decisions, trips);
        let what = format!("{name}: decisions a round trip");
        if promised && *name == "tollgate, leases" {
            report.held(&what, &format!("{each:.1}"), ">= 20", each >= 20.0);
        } else {
            report.told(&what, &format!("{each:.2}"));
        }
    }
    let [leases, strict, script, actix] = rates;
    let times = leases / strict.max(script);
    let what = "leases : one round trip each, the faster of strict and counting";
    if promised {
        report.held(what, &format!("{times:.1}"), ">= 5", times >= 5.0);
    } else {
        report.told(what, &format!("{times:.1}"));
    }
    report.told("leases : actix-limitation", &format!("{:.0}", leases / actix));
    Ok(report.print())
}

/// Sends so many requests, with many under way at once, each to a node by chance.
async fn drive(
    subject: &Arc<Subject>,
    ranks: &Arc<WeightedIndex<f64>>,
    decisions: u64,
    round: u64,
) -> Result<Duration, Box<dyn Error>> {
    let mut tasks = tokio::task::JoinSet::new();
    let began = Instant::now();
    for task in 0..TASKS {
        let (subject, ranks) = (subject.clone(), ranks.clone());
        tasks.spawn(async move {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(round << 32 | task);
            for request in 0..decisions / TASKS {
                let caller = ranks.sample(&mut random) as u64;
                subject.decide(random.random_range(0..NODES), caller).await;
                // As a server does between requests.
                if request % 32 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    while let Some(joined) = tasks.join_next().await {
        joined?;
    }
    Ok(began.elapsed())
}

/// What three nodes leave of a limit of 300 when every request since is refused: at worst, by chance, and by plan.
async fn stranded(server: &OwnServer) -> Result<ExitCode, Box<dyn Error>> {
    let mut report = Report::new("of a limit of 300, three nodes");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let subject = Subject::leases(&server.address(), "stranded", LIMIT).await?;
    let (mut left, mut worst, mut held) = (0, 0, 0);
    for caller in 0..TRIALS {
        let before = subject.unspent();
        let mut passed = 0;
        // Each request goes to a node by chance, and its caller gives up at the first refusal.
        while subject.decide(random.random_range(0..NODES), caller).await {
            passed += 1;
            held = held.max(subject.unspent() - before);
        }
        let stranded = u64::from(LIMIT) - passed;
        left += stranded;
        worst = worst.max(stranded);
    }
    let all = TRIALS * u64::from(LIMIT);
    report.held("left at the first refusal", &percent(left, all), "<= 5 %", left * 20 <= all);
    report.held("of 50 callers, at worst", &worst.to_string(), "<= 15", worst <= 15);
    report.held("lent and unspent at any time, at worst", &held.to_string(), "<= 15", held <= 15);
    Ok(report.print())
}

#[expect(clippy::cast_precision_loss, reason = "both are far below 2⁵²")]
fn ratio(of: u64, to: u64) -> f64 {
    of as f64 / to.max(1) as f64
}
