//! Decisions beside those of other limiters and beside the least that memory allows, in one run: medians of interleaved
//! rounds, so that a noisy machine hits all alike. Prints a table and writes `target/ratios.tsv`. With `--test` it does
//! one short round, to see that it runs.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use benches::subjects::{
    GovernorToldTheTime, GovernorWithClock, Limit, Ours, OursWithClock, Pingora, Subject, Throttlecrab,
    address, coarse_clock,
};
use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tollgate::{BoxedLimiter, Credentials, Quota};

const CALLERS: u32 = 1 << 20;
const CAPACITY: usize = 1 << 21;
const GENEROUS: u32 = 4_000_000;

/// One subject's name and its round: how many nanoseconds a decision took.
type Contestant<'s> = (&'static str, Box<dyn Fn() -> f64 + 's>);

struct Run {
    rounds: usize,
    decisions: usize,
    rows: Vec<Row>,
}

struct Row {
    work: &'static str,
    subject: &'static str,
    nanos: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let is_test = env::args().any(|argument| argument == "--test");
    let (rounds, decisions) = if is_test { (1, 1 << 10) } else { (21, 1 << 18) };
    let mut run = Run { rounds, decisions, rows: Vec::new() };
    hot(&mut run)?;
    spread(&mut run)?;
    spray(&mut run)?;
    threads(&mut run)?;
    clock(&mut run)?;
    exemption(&mut run)?;
    building(&mut run)?;
    let table = run.table();
    println!("{table}");
    if !is_test {
        fs::create_dir_all("target")?;
        fs::write(Path::new("target/ratios.tsv"), run.tsv())?;
    }
    Ok(())
}

/// One caller, whom everybody knows: below its limit, and over it.
fn hot(run: &mut Run) -> Result<(), Box<dyn Error>> {
    for (work, limit) in [("hot caller admitted", GENEROUS), ("hot caller refused", 1)] {
        let (ours, least) = (Ours::new(limit, 1 << 10)?, Limit::new(1 << 10));
        let (governor, pingora) = (GovernorToldTheTime::new(limit), Pingora::new(limit));
        let crab = Throttlecrab::new(limit, 1 << 10);
        let caller = vec![address(7); run.decisions];
        run.take(
            work,
            vec![
                ("limit", round(&least, &caller)),
                ("tollgate", round(&ours, &caller)),
                ("governor", round(&governor, &caller)),
                ("pingora-limits", round(&pingora, &caller)),
                ("throttlecrab", round(&crab, &caller)),
            ],
        );
    }
    Ok(())
}

/// Many callers, in a table with room for all.
fn spread(run: &mut Run) -> Result<(), Box<dyn Error>> {
    for (work, requests) in [
        ("Zipf(1.0) over 2^20 callers", zipf(run.decisions)?),
        ("uniform over 2^20 callers", uniform(run.decisions)),
    ] {
        let (ours, least) = (Ours::new(GENEROUS, CAPACITY)?, Limit::new(CAPACITY));
        let (governor, pingora) = (GovernorToldTheTime::new(GENEROUS), Pingora::new(GENEROUS));
        let crab = Throttlecrab::new(GENEROUS, CAPACITY);
        // Everybody is known before it is measured.
        for caller in 0..CALLERS {
            let address = address(caller);
            for subject in [&ours as &dyn Subject, &least, &governor, &pingora, &crab] {
                black_box(subject.decide(address));
            }
        }
        run.take(
            work,
            vec![
                ("limit", round(&least, &requests)),
                ("tollgate", round(&ours, &requests)),
                ("governor", round(&governor, &requests)),
                ("pingora-limits", round(&pingora, &requests)),
                ("throttlecrab", round(&crab, &requests)),
            ],
        );
    }
    Ok(())
}

/// Every caller is new, and the table is full.
fn spray(run: &mut Run) -> Result<(), Box<dyn Error>> {
    let capacity = 1 << 20;
    let (ours, least) = (Ours::new(2, capacity)?, Limit::new(capacity));
    let (governor, pingora) = (GovernorToldTheTime::new(2), Pingora::new(2));
    for caller in 0..CALLERS * 2 {
        black_box(ours.decide(address(caller)));
        black_box(least.decide(address(caller)));
    }
    // throttlecrab clears its map by scans of all of it, and does not finish.
    run.take(
        "spray, table full",
        vec![
            ("limit", fresh(&least, run.decisions)),
            ("tollgate", fresh(&ours, run.decisions)),
            ("governor", fresh(&governor, run.decisions)),
            ("pingora-limits", fresh(&pingora, run.decisions)),
        ],
    );
    Ok(())
}

/// The time of a decision in each of two threads at once; halved, since they do twice the work.
fn threads(run: &mut Run) -> Result<(), Box<dyn Error>> {
    let requests = zipf(run.decisions)?;
    let (ours, least, governor) =
        (Ours::new(GENEROUS, CAPACITY)?, Limit::new(CAPACITY), GovernorToldTheTime::new(GENEROUS));
    run.take(
        "two threads, Zipf",
        vec![
            ("limit", both(&least, &requests)),
            ("tollgate", both(&ours, &requests)),
            ("governor", both(&governor, &requests)),
        ],
    );
    let (ours, governor) = (Ours::new(1, 1 << 10)?, GovernorToldTheTime::new(1));
    let caller = vec![address(7); run.decisions];
    run.take(
        "two threads, hot caller refused",
        vec![("tollgate", both(&ours, &caller)), ("governor", both(&governor, &caller))],
    );
    Ok(())
}

fn clock(run: &mut Run) -> Result<(), Box<dyn Error>> {
    let ours = OursWithClock(Ours::new(GENEROUS, 1 << 10)?);
    let governor = GovernorWithClock::new(GENEROUS);
    let caller = vec![address(7); run.decisions];
    run.take(
        "hot caller admitted, clock read",
        vec![("tollgate", round(&ours, &caller)), ("governor", round(&governor, &caller))],
    );
    let decisions = run.decisions;
    let coarse = move || timed(decisions, |_| black_box(coarse_clock()).0 > 0);
    let precise =
        move || timed(decisions, |_| black_box(Instant::now()).elapsed().as_nanos() < 1_000_000_000);
    run.take("a clock alone", vec![("coarse", Box::new(coarse)), ("precise", Box::new(precise))]);
    Ok(())
}

/// Four secrets of 64 bytes.
fn exemption(run: &mut Run) -> Result<(), Box<dyn Error>> {
    let mut credentials = Credentials::<4>::default();
    let secrets: Vec<_> = (0..4).map(|n| format!("{n:064}")).collect();
    for secret in &secrets {
        credentials.add("service", secret.as_bytes())?;
    }
    let (credentials, decisions) = (&credentials, run.decisions);
    let right = secrets.last().ok_or("four secrets")?.clone().into_bytes();
    let verify = |presented: Vec<u8>| {
        move || {
            timed(decisions, |_| {
                matches!(credentials.verify(Some(black_box(&presented))), tollgate::Presented::Forged)
            })
        }
    };
    run.take(
        "exemption, 4 secrets of 64 bytes",
        vec![
            ("right", Box::new(verify(right))),
            ("wrong", Box::new(verify(vec![b'x'; 64]))),
            ("another length", Box::new(verify(vec![b'x'; 32]))),
        ],
    );
    Ok(())
}

/// 512 MiB, which the operating system zeroes as it is touched.
fn building(run: &mut Run) -> Result<(), Box<dyn Error>> {
    let build = || BoxedLimiter::with_capacity(Quota::per_minute(300), 1 << 26);
    drop(build()?);
    run.take(
        "a table of 2^26 callers, built",
        vec![("tollgate", Box::new(move || timed(1, |_| black_box(build()).is_ok())))],
    );
    Ok(())
}

impl Run {
    /// Rounds of all contestants in turn; the median of each.
    fn take(&mut self, work: &'static str, contestants: Vec<Contestant<'_>>) {
        let mut spans = vec![Vec::new(); contestants.len()];
        for _ in 0..self.rounds {
            for ((_, round), spans) in contestants.iter().zip(&mut spans) {
                spans.push(round());
            }
        }
        for ((subject, _), mut spans) in contestants.into_iter().zip(spans) {
            spans.sort_by(f64::total_cmp);
            let nanos = spans.get(spans.len() / 2).copied().unwrap_or(f64::NAN);
            self.rows.push(Row { work, subject, nanos });
        }
    }

    /// What each took, beside the limit and beside governor, where they did the same work.
    fn figures(&self) -> impl Iterator<Item = [String; 5]> {
        let mut of: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        of.extend(self.rows.iter().map(|row| ((row.work, row.subject), row.nanos)));
        self.rows.iter().map(move |row| {
            let ratio = |other: &str| {
                of.get(&(row.work, other)).map_or(String::new(), |other| format!("{:.3}", row.nanos / other))
            };
            [
                row.work.into(),
                row.subject.into(),
                format!("{:.2}", row.nanos),
                ratio("limit"),
                ratio("governor"),
            ]
        })
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(COLUMNS);
        for row in self.figures() {
            table.add_row(row);
        }
        table
    }

    fn tsv(&self) -> String {
        let mut text = COLUMNS.join("\t");
        for row in self.figures() {
            let _ = write!(text, "\n{}", row.join("\t"));
        }
        text + "\n"
    }
}

const COLUMNS: [&str; 5] = ["work", "subject", "ns_per_decision", "ratio_to_limit", "ratio_to_governor"];

/// The mean time of a call.
#[expect(clippy::cast_precision_loss, reason = "far below 2⁵²")]
fn timed(calls: usize, mut call: impl FnMut(usize) -> bool) -> f64 {
    let began = Instant::now();
    let passed = (0..calls).filter(|&index| call(index)).count();
    let nanos = began.elapsed().as_nanos() as f64;
    black_box(passed);
    nanos / calls as f64
}

/// The same requests in each round.
fn round<'s, S: Subject>(subject: &'s S, requests: &'s [IpAddr]) -> Box<dyn Fn() -> f64 + 's> {
    Box::new(move || decide(subject, requests))
}

#[inline(never)]
fn decide<S: Subject>(subject: &S, requests: &[IpAddr]) -> f64 {
    let mut requests = requests.iter();
    timed(requests.len(), |_| requests.next().is_some_and(|&address| subject.decide(address)))
}

/// New callers in each round.
fn fresh<'s, S: Subject>(subject: &'s S, decisions: usize) -> Box<dyn Fn() -> f64 + 's> {
    let next = AtomicU32::new(CALLERS * 8);
    Box::new(move || timed(decisions, |_| subject.decide(address(next.fetch_add(1, Ordering::Relaxed)))))
}

fn both<'s, S: Subject>(subject: &'s S, requests: &'s [IpAddr]) -> Box<dyn Fn() -> f64 + 's> {
    Box::new(move || {
        let barrier = Barrier::new(2);
        let work = || {
            barrier.wait();
            decide(subject, requests)
        };
        let spans = thread::scope(|scope| {
            [scope.spawn(work), scope.spawn(work)].map(|thread| thread.join().unwrap_or(f64::NAN))
        });
        spans.iter().sum::<f64>() / 4.0
    })
}

fn zipf(requests: usize) -> Result<Vec<IpAddr>, Box<dyn Error>> {
    let ranks = WeightedIndex::new((1..=CALLERS).map(|rank| 1.0 / f64::from(rank)))?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    (0..requests).map(|_| Ok(address(u32::try_from(ranks.sample(&mut random))?))).collect()
}

fn uniform(requests: usize) -> Vec<IpAddr> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    (0..requests).map(|_| address(random.random_range(0..CALLERS))).collect()
}
