//! What each kind of quota admits over time, decided by the real limiter on paper time: the picture and the table of
//! `docs/choosing-a-quota.md`. The same on every machine. Writes `docs/plots/quotas.svg`; with `--test` it draws into
//! `target/`.

use std::env;
use std::error::Error;

use benches::percent;
use benches::plot::{Axis, Legend, Line, Panel, Plot};
use benches::sheet::Sheet;
use benches::subjects::KEYER;
use tollgate::{BoxedLimiter, Nanos, Presented, Quota};

fn main() -> Result<(), Box<dyn Error>> {
    let is_test = env::args().any(|argument| argument == "--test");
    let (mut all, mut lately) = (Vec::new(), Vec::new());
    for (name, quota) in QUOTAS {
        let admitted = admitted(quota, &greedy())?;
        let line = |count: fn(&[u64], u64) -> usize| {
            let points =
                (0..=SHOWN).map(|second| (seconds(second), number(count(&admitted, second * SECOND))));
            Line { name, points: points.collect() }
        };
        all.push(line(until));
        lately.push(line(|admitted, now| until(admitted, now) - until(admitted, now.saturating_sub(MINUTE))));
    }
    let columns = ["quota", "even", "pages", "greedy", "most in a minute"];
    let mut sheet = Sheet::new(columns);
    for (name, quota) in QUOTAS {
        let shares = [even(), pages(), greedy()].map(|trace| -> Result<_, Box<dyn Error>> {
            let passed = admitted(quota, &trace)?.len();
            Ok(percent(u64::try_from(trace.len() - passed)?, u64::try_from(trace.len())?))
        });
        let [even, pages, greedy_share] = shares;
        let most = most_in_a_minute(&admitted(quota, &greedy())?);
        sheet.add([name.into(), even?, pages?, greedy_share?, most.to_string()]);
    }
    sheet.print();
    let seconds = || Axis::new("seconds since its first request", 0.0..seconds(SHOWN));
    let panels = vec![
        Panel {
            title: "Admitted since the first request",
            x: seconds(),
            y: Axis::new("requests", 0.0..1_300.0),
            lines: all,
            legend: Legend::UpperLeft,
        },
        Panel {
            title: "Admitted within the minute before",
            x: seconds(),
            y: Axis::new("requests", 0.0..900.0),
            lines: lately,
            legend: Legend::UpperLeft,
        },
    ];
    let title = "One request, 50 seconds of silence, then a hundred a second";
    Plot { title, panels }.write(if is_test { "target/quotas.svg" } else { "docs/plots/quotas.svg" })
}

/// All of them 300 a minute, in their own ways.
const QUOTAS: [(&str, Quota); 4] = [
    ("fixed window", Quota::per_minute(300)),
    ("sliding window", Quota::per_minute(300).sliding()),
    ("GCRA, burst 50", Quota::per_minute(300).burst(50)),
    ("promise, burst 50", Quota::at_most(300).in_any(Nanos(MINUTE)).burst(50)),
];

/// When a caller's requests were admitted.
fn admitted(quota: Quota, requests: &[u64]) -> Result<Vec<u64>, Box<dyn Error>> {
    let limiter = BoxedLimiter::with_capacity(quota, 16)?;
    let key = KEYER.bytes(b"a caller");
    let passes = |at: u64| limiter.check(key, Presented::Absent, Nanos(MINUTE + at)).passes();
    Ok(requests.iter().copied().filter(|&at| passes(at)).collect())
}

/// One request, then silence, then as many as fit.
fn greedy() -> Vec<u64> {
    [0].into_iter().chain((50 * SECOND..SHOWN * SECOND).step_by(10_000_000)).collect()
}

/// Four a second, 240 a minute.
fn even() -> Vec<u64> {
    (0..LONG).step_by(250_000_000).collect()
}

/// Eighty within a second for every third of a minute, 240 a minute: a page and what belongs to it.
fn pages() -> Vec<u64> {
    (0..LONG)
        .step_by(20_000_000_000)
        .flat_map(|page| (0..80).map(move |part| page + part * 12_500_000))
        .collect()
}

/// How many were admitted up to a time.
fn until(admitted: &[u64], time: u64) -> usize {
    admitted.partition_point(|&at| at <= time)
}

fn most_in_a_minute(admitted: &[u64]) -> usize {
    let from = |at: u64| admitted.iter().filter(|&&other| (at..at + MINUTE).contains(&other)).count();
    admitted.iter().map(|&at| from(at)).max().unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "some hundreds")]
fn seconds(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "some thousands")]
fn number(number: usize) -> f64 {
    number as f64
}

/// In seconds.
const SHOWN: u64 = 200;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const LONG: u64 = 10 * MINUTE;
