//! Whether two threads that refuse one hot caller do twice the work of one: beside loads of one word, which scale as
//! the machine does, and beside one shared counter, which does not.

use std::error::Error;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use benches::Report;
use tollgate::{BoxedLimiter, Key, Keyer, Nanos, Presented, Quota};

const ROUNDS: usize = 31;
const DECISIONS: u32 = 200_000;
const NOW: Nanos = Nanos(60_000_000_000);

fn main() -> Result<(), Box<dyn Error>> {
    let limiter = BoxedLimiter::with_capacity(Quota::per_minute(1), 1024)?;
    let hot = Keyer::new(*b"a seed for scale").bytes(b"hot");
    let _ = limiter.check(hot, Presented::Absent, NOW);
    let word = AtomicU64::new(1);
    let refuse = || refuse(&limiter, hot);
    // ORDERING: what is measured is the line's travels between cores; nothing is handed over.
    let load = || word.load(Ordering::Relaxed);
    let add = || word.fetch_add(1, Ordering::Relaxed);
    let [refused, loaded, added] = medians([&refuse, &load, &add]);

    let mut report = Report::new("two threads, one word");
    for (name, [one, two]) in [
        ("tollgate, a refused caller, counted", refused),
        ("loads of one word", loaded),
        ("one shared counter", added),
    ] {
        report.told(&format!("{name}: ns in one thread"), &format!("{one:.1}"));
        report.told(&format!("{name}: ns in each of two"), &format!("{two:.1}"));
        report.told(&format!("{name}: two do so many times the work"), &format!("{:.2}", 2.0 * one / two));
    }
    let _ = report.print();
    let counts = limiter.counts();
    println!("{} refusals counted", counts.refused);
    Ok(())
}

/// Out of line, so that what is measured is a call as a server makes it.
#[inline(never)]
fn refuse(limiter: &BoxedLimiter, hot: Key) -> u64 {
    u64::from(limiter.check(black_box(hot), Presented::Absent, black_box(NOW)).passes())
}

/// The median time of each work's call, in one thread and in each of two; rounds are interleaved, so that a noisy
/// machine hits all alike.
fn medians<const N: usize>(works: [&(dyn Fn() -> u64 + Sync); N]) -> [[f64; 2]; N] {
    let mut spans = [const { [const { Vec::new() }; 2] }; N];
    for _ in 0..ROUNDS {
        for (work, spans) in works.iter().zip(&mut spans) {
            for (threads, spans) in [1, 2].into_iter().zip(spans) {
                spans.push(round(*work, threads));
            }
        }
    }
    spans.map(|spans| {
        spans.map(|mut spans| {
            spans.sort_by(f64::total_cmp);
            spans[ROUNDS / 2]
        })
    })
}

/// The mean time of a call, in nanoseconds, of so many threads at once.
fn round(work: &(dyn Fn() -> u64 + Sync), threads: usize) -> f64 {
    let barrier = Barrier::new(threads);
    let spans = thread::scope(|scope| {
        let run = || {
            scope.spawn(|| {
                barrier.wait();
                let from = Instant::now();
                (0..DECISIONS).for_each(|_| {
                    black_box(work());
                });
                from.elapsed().as_secs_f64() * 1e9 / f64::from(DECISIONS)
            })
        };
        let running: Vec<_> = (0..threads).map(|_| run()).collect();
        running.into_iter().filter_map(|running| running.join().ok()).collect::<Vec<_>>()
    });
    spans.iter().sum::<f64>() / f64::from(u32::try_from(spans.len()).unwrap_or(1))
}
