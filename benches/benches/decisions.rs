//! The works of `ratios` under criterion, for whoever changes the core and wants to see a difference and its confidence.
//! `cargo bench -p benches -- --test` runs each once.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use benches::subjects::{
    GovernorToldTheTime, GovernorWithClock, KEYER, Limit, Ours, OursWithClock, Pingora, Subject, address,
};
use benches::trace::{Uniform, zipf};
use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use tollgate::{BoxedLimiter, Credentials, Nanos, Presented, Quota};

fn main() -> Result<(), Box<dyn Error>> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(50)
        .configure_from_args();
    hot(&mut criterion)?;
    spread(&mut criterion)?;
    spray(&mut criterion)?;
    clock(&mut criterion)?;
    exempt(&mut criterion)?;
    criterion.final_summary();
    Ok(())
}

/// One caller, whom everybody knows.
fn hot(criterion: &mut Criterion) -> Result<(), Box<dyn Error>> {
    for (name, limit) in [("hot caller admitted", GENEROUS), ("hot caller refused", 1)] {
        let (ours, least) = (Ours::new(limit, 1 << 10)?, Limit::new(1 << 10));
        let (governor, pingora) = (GovernorToldTheTime::new(limit), Pingora::new(limit));
        let mut group = criterion.benchmark_group(name);
        decide(&mut group, "tollgate", &ours, || 7);
        decide(&mut group, "limit", &least, || 7);
        decide(&mut group, "governor", &governor, || 7);
        decide(&mut group, "pingora-limits", &pingora, || 7);
    }
    Ok(())
}

/// Many callers, in a table with room for all.
fn spread(criterion: &mut Criterion) -> Result<(), Box<dyn Error>> {
    let capacity = usize::try_from(CALLERS * 2)?;
    let (ours, least) = (Ours::new(GENEROUS, capacity)?, Limit::new(capacity));
    let (governor, pingora) = (GovernorToldTheTime::new(GENEROUS), Pingora::new(GENEROUS));
    for caller in 0..CALLERS {
        for subject in [&ours as &dyn Subject, &least, &governor, &pingora] {
            black_box(subject.decide(address(caller)));
        }
    }
    let trace = zipf(CALLERS, 1 << 18, 1)?;
    let mut group = criterion.benchmark_group("Zipf(1.0) over 2^18 callers");
    let zipf = || {
        let mut requests = trace.iter().cycle();
        move || requests.next().copied().unwrap_or(0)
    };
    decide(&mut group, "tollgate", &ours, zipf());
    decide(&mut group, "limit", &least, zipf());
    decide(&mut group, "governor", &governor, zipf());
    decide(&mut group, "pingora-limits", &pingora, zipf());
    group.finish();
    let mut group = criterion.benchmark_group("uniform over 2^18 callers");
    let uniform = || {
        let mut requests = Uniform::new(CALLERS);
        move || requests.next().unwrap_or(0)
    };
    decide(&mut group, "tollgate", &ours, uniform());
    decide(&mut group, "limit", &least, uniform());
    decide(&mut group, "governor", &governor, uniform());
    decide(&mut group, "pingora-limits", &pingora, uniform());
    Ok(())
}

/// Every caller is new, and the table is full. Maps without bounds are left out: they would grow all the time.
fn spray(criterion: &mut Criterion) -> Result<(), Box<dyn Error>> {
    let capacity = usize::try_from(CALLERS)?;
    let (ours, least, pingora) =
        (Ours::new(GENEROUS, capacity)?, Limit::new(capacity), Pingora::new(GENEROUS));
    (0..CALLERS * 2).for_each(|caller| _ = black_box(ours.decide(address(caller))));
    let fresh = || {
        let mut next = CALLERS * 2;
        move || {
            next = next.wrapping_add(1);
            next
        }
    };
    let mut group = criterion.benchmark_group("spray, table full");
    decide(&mut group, "tollgate", &ours, fresh());
    decide(&mut group, "limit", &least, fresh());
    decide(&mut group, "pingora-limits", &pingora, fresh());
    Ok(())
}

/// With the clocks that they read themselves.
fn clock(criterion: &mut Criterion) -> Result<(), Box<dyn Error>> {
    let ours = OursWithClock(Ours::new(GENEROUS, 1 << 10)?);
    let governor = GovernorWithClock::new(GENEROUS);
    let mut group = criterion.benchmark_group("hot caller admitted, clock read");
    decide(&mut group, "tollgate", &ours, || 7);
    decide(&mut group, "governor", &governor, || 7);
    Ok(())
}

/// Four secrets of 64 bytes, and the decision that follows.
fn exempt(criterion: &mut Criterion) -> Result<(), Box<dyn Error>> {
    let limiter = BoxedLimiter::with_capacity(Quota::per_minute(300), 1 << 10)?;
    let mut credentials = Credentials::<4>::default();
    let secrets: Vec<_> = (0..4).map(|n| format!("{n:064}")).collect();
    for secret in &secrets {
        credentials.add("service", secret.as_bytes())?;
    }
    let right = secrets.last().ok_or("four secrets")?.as_bytes();
    let mut group = criterion.benchmark_group("exemption, 4 secrets of 64 bytes");
    for (name, presented) in [("right", right), ("wrong", &[b'x'; 64]), ("another length", &[b'x'; 32])] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let presented = credentials.verify(Some(black_box(presented)));
                limiter.check(KEYER.address(black_box(address(7))), presented, black_box(NOW))
            });
        });
    }
    group.bench_function("none", |bencher| {
        bencher.iter(|| limiter.check(KEYER.address(black_box(address(7))), Presented::Absent, NOW));
    });
    Ok(())
}

fn decide(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    subject: &impl Subject,
    mut caller: impl FnMut() -> u32,
) {
    group.bench_function(name, |bencher| bencher.iter(|| subject.decide(address(black_box(caller())))));
}

/// The limit of somebody who is never refused.
const GENEROUS: u32 = 4_000_000;

const CALLERS: u32 = 1 << 18;

const NOW: Nanos = Nanos(1 << 40);
