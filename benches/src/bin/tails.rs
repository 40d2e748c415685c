//! Ten million distinct callers: what memory they take, and the slowest decisions, beside governor's map and beside
//! the gaps of a loop that decides nothing, in one interleaved run.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::time::Instant;

use benches::Report;
use governor::{DefaultKeyedRateLimiter, RateLimiter};
use hdrhistogram::Histogram;
use tollgate::{BoxedLimiter, Keyer, Nanos, Presented, Quota};

const CALLERS: u32 = 10_000_000;
/// Whose share of the memory is told.
const MILLION: u32 = 1_000_000;
const LIMIT: u32 = 300;
const KEYER: Keyer = Keyer::new(*b"a seed for tails");
/// What the kernel's count of resident pages may be off by, in KiB: it is kept per core.
const SLACK: u64 = 1024;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let began = Instant::now();
    let codes = [share()?, memory()?, tails()?];
    println!("{:.0} s", began.elapsed().as_secs_f64());
    Ok(if codes.contains(&ExitCode::FAILURE) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn limiter(capacity: usize) -> Result<BoxedLimiter, Box<dyn Error>> {
    Ok(BoxedLimiter::with_capacity(Quota::per_minute(LIMIT), capacity)?)
}

/// 8 MiB, too small on purpose: ten million callers displace each other nine times.
const SMALL: usize = 1 << 20;
/// 256 MiB, the power of two from twice the callers on.
const SIZED: usize = 1 << 25;

fn governor() -> Result<DefaultKeyedRateLimiter<IpAddr>, Box<dyn Error>> {
    let limit = NonZeroU32::new(LIMIT).ok_or("a limit of 0")?;
    Ok(RateLimiter::dashmap(governor::Quota::per_minute(limit)))
}

/// Callers' addresses, scattered; no two are the same, since the factor is odd.
fn address(caller: u32) -> IpAddr {
    Ipv4Addr::from_bits(caller.wrapping_mul(0x9e37_79b9)).into()
}

/// Resident memory in KiB.
fn resident() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS in /proc/self/status")?;
    Ok(line.trim_end_matches("kB").trim().parse()?)
}

/// What each of a million callers takes in a table for twice as many, the power of two from there on.
fn share() -> Result<ExitCode, Box<dyn Error>> {
    let mut report = Report::new("bytes a caller, one million");
    let before = resident()?;
    let limiter = limiter(2 * MILLION as usize)?;
    for caller in 0..MILLION {
        let now = Nanos(60_000_000_000 + u64::from(caller));
        let _ = limiter.check(KEYER.address(address(caller)), Presented::Absent, now);
    }
    report.told("tollgate", &bytes_each(resident()? - before, MILLION));
    Ok(report.print())
}

/// So many KiB, shared by so many callers.
fn bytes_each(kib: u64, callers: u32) -> String {
    format!("{:.1}", f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) * 1024.0 / f64::from(callers))
}

fn memory() -> Result<ExitCode, Box<dyn Error>> {
    let mut report = Report::new("memory, KiB");
    let before = resident()?;
    let limiter = limiter(SMALL)?;
    let built = resident()?;
    // A look at every slot touches the whole table.
    black_box(limiter.occupancy(Nanos::ZERO));
    let mut passed = 0;
    let mut check = |callers: core::ops::Range<u32>| {
        for caller in callers {
            let now = Nanos(60_000_000_000 + u64::from(caller));
            passed +=
                u32::from(limiter.check(KEYER.address(address(caller)), Presented::Absent, now).passes());
        }
    };
    check(0..CALLERS / 5);
    let touched = resident()?;
    check(CALLERS / 5..CALLERS);
    let after = resident()?;
    report.told("a table for 1,048,576 callers, built", &(built - before).to_string());
    report.told("after 2 million distinct callers", &(touched - before).to_string());
    let grown = after.abs_diff(touched);
    report.held(
        "and after 8 million more, by how much it differs",
        &grown.to_string(),
        "0 ± 1,024",
        grown <= SLACK,
    );
    let most = 8192 + SLACK;
    report.held("in all", &(after - before).to_string(), "<= 8,192 + 1,024", after - before <= most);
    report.told("of ten million, passed", &passed.to_string());
    drop(limiter);
    let before = resident()?;
    let theirs = governor()?;
    for caller in 0..CALLERS {
        let _ = theirs.check_key(&address(caller));
        if caller + 1 == MILLION {
            let each = bytes_each(resident()?.saturating_sub(before), MILLION);
            report.told("governor's map, bytes a caller at one million", &each);
        }
    }
    let after = resident()?.saturating_sub(before);
    report.told("governor's map after ten million", &after.to_string());
    report.told("the same, bytes a caller", &bytes_each(after, CALLERS));
    Ok(report.print())
}

fn tails() -> Result<ExitCode, Box<dyn Error>> {
    let (small, sized, theirs) = (limiter(SMALL)?, limiter(SIZED)?, governor()?);
    let start = Instant::now();
    let mut spans = [histogram()?, histogram()?, histogram()?, histogram()?];
    for caller in 0..CALLERS {
        let address = address(caller);
        for turn in 0..4 {
            // Each goes first as often as the others.
            let which = (caller + turn) % 4;
            let from = Instant::now();
            match which {
                0 | 1 => {
                    let ours = if which == 0 { &small } else { &sized };
                    // Reads a clock, as governor does.
                    let now = Nanos::from_duration(start.elapsed());
                    let _ = black_box(ours.check(KEYER.address(address), Presented::Absent, now));
                }
                2 => {
                    let _ = black_box(theirs.check_key(&address));
                }
                _ => {
                    black_box(address);
                }
            }
            let nanos = u64::try_from(from.elapsed().as_nanos())?;
            spans.get_mut(which as usize).ok_or("four histograms")?.record(nanos.max(1))?;
        }
    }
    let mut report = Report::new("ns a decision, ten million newcomers");
    for (name, spans) in
        ["tollgate, 8 MiB", "tollgate, 256 MiB", "governor, dashmap", "nothing"].iter().zip(&spans)
    {
        for (figure, value) in [
            ("median", spans.value_at_quantile(0.5)),
            ("99.99th percentile", spans.value_at_quantile(0.9999)),
            ("slowest", spans.max()),
        ] {
            report.told(&format!("{name}: {figure}"), &value.to_string());
        }
    }
    Ok(report.print())
}

/// Spans up to a minute, to three digits.
fn histogram() -> Result<Histogram<u64>, Box<dyn Error>> {
    Ok(Histogram::new_with_bounds(1, 60_000_000_000, 3)?)
}
