//! The odds that the documentation states, measured on the real table: callers that share a word, newcomers that are
//! refused unheard, and how much a displaced caller is forgiven. All of it is the same on every machine, since the
//! seeds are fixed.

use std::collections::VecDeque;
use std::error::Error;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use benches::{Report, percent};
use hashbrown::HashMap;
use rand::SeedableRng;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::Xoshiro256PlusPlus;
use tollgate::{BoxedLimiter, Key, Keyer, Nanos, Overflow, Presented, Quota, Reason, Verdict};

const KEYER: Keyer = Keyer::new(*b"a seed for odds.");
const MINUTE: u64 = 60_000_000_000;
const START: Nanos = Nanos(MINUTE);
/// A window of a minute begins with a tick of 2²⁴ ns.
const TICK: u64 = 1 << 24;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let began = Instant::now();
    let codes = [strangers()?, overflow()?, forgiveness()?];
    println!("{:.0} s", began.elapsed().as_secs_f64());
    Ok(if codes.contains(&ExitCode::FAILURE) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn key(caller: u64) -> Key {
    KEYER.bytes(&caller.to_le_bytes())
}

/// Looks absent callers up on a full table: whoever does not find its whole limit has met a stranger's tag.
fn strangers() -> Result<ExitCode, Box<dyn Error>> {
    const LOOKUPS: u64 = 1 << 31;
    // 32 KiB, so that the look-ups measure the table's tags and not the memory.
    let limiter = BoxedLimiter::with_capacity(Quota::per_minute(1), 4096)?.with_overflow(Overflow::Refuse);
    let mut stored = 0;
    while limiter.occupancy(START).restraining < limiter.capacity() {
        for _ in 0..1024 {
            let _ = limiter.check(key(stored), Presented::Absent, START);
            stored += 1;
        }
    }
    let threads = thread::available_parallelism()?.get() as u64;
    let share = LOOKUPS / threads;
    let look_up = |from: u64| {
        (from..from + share).filter(|&caller| limiter.peek(key(caller), START).remaining == 0).count() as u64
    };
    let met = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || look_up(stored + thread * share))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(u64::MAX)).fold(0, u64::saturating_add)
    });
    let mut report = Report::new("false sharing");
    report.held(
        &format!("strangers' tags met in {} look-ups", share * threads),
        &met.to_string(),
        "256 ± 48",
        met.abs_diff(256) <= 48,
    );
    Ok(report.print())
}

/// Newcomers that are refused unheard, by how many throttled callers there are.
fn overflow() -> Result<ExitCode, Box<dyn Error>> {
    const SLOTS: u64 = 1 << 20;
    const NEWCOMERS: u64 = 1 << 22;
    const GENERATIONS: u64 = 8;
    let mut report = Report::new("newcomers refused unheard, by throttled callers");
    // A load in hundredths of the slots, and its target in millionths of the newcomers.
    for (load, most, target) in
        [(50, 0, "0"), (60, 100, "<= 0.01 %"), (75, 15_000, "<= 1.5 %"), (100, 719_999, "< 72 %")]
    {
        let callers = SLOTS * load / 100;
        let mut throttled = 0;
        for (generations, table) in [(1, "fresh"), (GENERATIONS, "after churn")] {
            let limiter = BoxedLimiter::with_capacity(Quota::per_minute(1), usize::try_from(SLOTS)?)?;
            let (mut now, mut next) = (START, 0);
            let mut arrive = |now: Nanos| {
                next += 1;
                (0..2).for_each(|_| _ = limiter.check(key(next), Presented::Absent, now));
                next
            };
            // Each generation of callers takes a window to arrive, one by one, while the one before it expires.
            for arrival in 0..generations * callers {
                if generations > 1 {
                    now = Nanos(MINUTE + limiter.enforced_window().0 / callers * arrival);
                }
                arrive(now);
            }
            // Callers that were refused unheard are missing in the table, more of them after churn: as many arrive
            // as make the two tables comparable.
            let restraining = || limiter.occupancy(now).restraining as u64;
            throttled = throttled.max(restraining());
            while restraining() < throttled {
                (0..throttled - restraining()).for_each(|_| _ = arrive(now));
            }
            let full = percent(restraining(), SLOTS);
            let first = arrive(now) + 1;
            let unheard = |caller: &u64| is_unheard(&limiter, key(*caller), now);
            let refused = (first..first + NEWCOMERS).filter(unheard).count() as u64;
            let met = refused * 1_000_000 <= most * NEWCOMERS;
            let what = format!("{load} % of the slots sent, {full} in the table, {table}");
            report.held(&what, &percent(refused, NEWCOMERS), target, met);
        }
    }
    Ok(report.print())
}

/// Whether a newcomer finds no room. If it finds some, its word is as good as free afterwards: nothing is charged to
/// it, so the next newcomer takes it over.
fn is_unheard(limiter: &BoxedLimiter, key: Key, now: Nanos) -> bool {
    match limiter.check(key, Presented::Absent, now) {
        Verdict::Refused(refusal) => refusal.reason == Reason::Overflow,
        Verdict::Admitted(_) | Verdict::Exempt(_) => {
            limiter.clear(key, now);
            false
        }
    }
}

/// How the decisions of a small table under `Inherit` differ from those of one without bounds.
fn forgiveness() -> Result<ExitCode, Box<dyn Error>> {
    const SLOTS: usize = 512;
    let mut report = Report::new("Zipf(1.0) callers on 512 slots, 10 requests a caller and window");
    for (windows, trials) in [(1, 400), (20, 20)] {
        for (limit, callers) in
            [10, 100].into_iter().flat_map(|limit| CALLERS.map(|callers| (limit, callers)))
        {
            let ranks = WeightedIndex::new((1..=callers).map(|rank| 1.0 / f64::from(rank)))?;
            let mut sum = Differences::default();
            for trial in 0..trials {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(trial);
                let limiter = BoxedLimiter::with_capacity(Quota::per_minute(limit), SLOTS)?;
                // So that each trial has other callers, in other slots.
                let requests = (0..10 * callers * windows)
                    .map(|_| trial << 32 | ranks.sample(&mut random) as u64)
                    .collect::<Vec<_>>();
                sum.add(&limiter, &requests, 10 * callers);
            }
            let what = format!("windows: {windows}, limit {limit}, {callers} callers");
            let Differences { requests, forgiven, refused, worst, beyond } = sum;
            let (wrong, forgiven) = (percent(forgiven + refused, requests), percent(forgiven, requests));
            let all =
                format!("{wrong} wrong, {forgiven} forgiven; worst by {worst}, of any interval {beyond}");
            if (windows, limit, callers) == (20, 100, 600) {
                report.held(&what, &all, "<= 1 % wrong", (sum.forgiven + sum.refused) * 100 <= requests);
            } else {
                report.told(&what, &all);
            }
        }
    }
    Ok(report.print())
}

/// At, a little over, twice and four times as many as there are slots.
const CALLERS: [u32; 4] = [512, 600, 1024, 2048];

#[derive(Default)]
struct Differences {
    requests: u64,
    /// Admitted, though the caller had used its limit.
    forgiven: u64,
    /// Refused, though it had not.
    refused: u64,
    /// The most that one caller was admitted above its limit in one of its windows. Up to the limit comes from windows
    /// that began at another time, an heir's with its predecessor's.
    worst: u32,
    /// The most that it was admitted above twice its limit in any interval of a window, which windows alone don't
    /// explain.
    beyond: u32,
}

impl Differences {
    /// Sends requests, so many in a window and evenly, to the limiter and to exact windows.
    fn add(&mut self, limiter: &BoxedLimiter, requests: &[u64], in_a_window: u32) {
        let window = limiter.enforced_window().0;
        let mut exact: HashMap<u64, Window> = HashMap::new();
        for (request, &caller) in (0..).zip(requests) {
            let now = MINUTE + request * (window / u64::from(in_a_window));
            let passes = limiter.check(key(caller), Presented::Absent, Nanos(now)).passes();
            let mine = exact.entry(caller).or_default();
            if now >= mine.start + window {
                (mine.start, mine.wanted, mine.admitted) = (now / TICK * TICK, 0, 0);
            }
            mine.wanted += 1;
            mine.admitted += u32::from(passes);
            if passes {
                mine.recent.push_back(now);
            }
            while mine.recent.front().is_some_and(|&then| now - then >= window) {
                mine.recent.pop_front();
            }
            let should = mine.wanted <= limiter.limit();
            self.requests += 1;
            self.forgiven += u64::from(passes && !should);
            self.refused += u64::from(!passes && should);
            self.worst = self.worst.max(mine.admitted.saturating_sub(limiter.limit()));
            let recent = u32::try_from(mine.recent.len()).unwrap_or(u32::MAX);
            self.beyond = self.beyond.max(recent.saturating_sub(2 * limiter.limit()));
        }
    }
}

/// A caller's window as it is without bounds: what it wanted in it and what it got.
#[derive(Default)]
struct Window {
    start: u64,
    wanted: u32,
    admitted: u32,
    /// When it was admitted, in the last window's length.
    recent: VecDeque<u64>,
}
