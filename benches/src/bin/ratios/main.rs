//! Decisions beside those of other limiters and beside the least that memory allows, in one run: medians of interleaved
//! rounds, so that a noisy machine hits all alike. Prints tables and writes `target/ratios.tsv` and `target/gaps.tsv`.
//!
//! `ratios spray` does and prints one kind of work alone; `ratios --test` does one short round, to see that it runs.
//! Works that end with "clock read" include each limiter's own clock; in the others nobody reads one.

mod run;

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use benches::rounds::{interleaved, on_core};
use benches::sheet::Sheet;
use benches::subjects::{
    GovernorToldTheTime, GovernorWithClock, KEYER, Limit, NOW, Ours, OursByFoldhash, OursWithClock, Pingora,
    Subject, Throttlecrab, address, coarse_clock,
};
use foldhash::quality::SeedableRandomState;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tollgate::{BoxedLimiter, Credentials, Presented, Quota};

use run::{Run, fresh, known, mean, round, timed};

const CALLERS: u32 = 1 << 20;
const CAPACITY: usize = 1 << 21;
const GENEROUS: u32 = 4_000_000;

type Outcome = Result<(), Box<dyn Error>>;

type Work = fn(&mut Run) -> Outcome;

/// Each with the number of pieces that a round is cut into. Where nothing has to be warmed up, many short rounds are less
/// disturbed than a few long ones.
const WORKS: [(&str, usize, Work); 9] = [
    ("hot", 16, hot),
    ("spread", 1, spread),
    ("batch", 1, batch),
    ("spray", 1, spray),
    ("threads", 1, threads),
    ("clock", 16, clock),
    ("exemption", 16, exemption),
    ("building", 1, building),
    ("gaps", 1, gaps),
];

fn main() -> Outcome {
    let is_test = env::args().any(|argument| argument == "--test");
    let wanted = env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let (rounds, decisions) = if is_test { (1, 1 << 10) } else { (21, 1 << 18) };
    let mut run = Run::new();
    for (name, pieces, work) in WORKS {
        if wanted.as_ref().is_none_or(|wanted| wanted == name) {
            (run.rounds, run.decisions) = (rounds * pieces, decisions / pieces);
            work(&mut run)?;
        }
    }
    let sheet = run.sheet();
    sheet.print();
    if !is_test && wanted.is_none() {
        sheet.write("target/ratios.tsv")?;
    }
    Ok(())
}

/// One caller, whom everybody knows: below its limit, and over it.
fn hot(run: &mut Run) -> Outcome {
    let caller = vec![address(7); run.decisions];
    for (work, limit) in [("hot caller admitted", GENEROUS), ("hot caller refused", 1)] {
        let (ours, least) = (Ours::new(limit, 1 << 10)?, Limit::new(1 << 10));
        let quick = by_foldhash(limit, 1 << 10)?;
        let (governor, pingora) = (GovernorToldTheTime::new(limit), Pingora::new(limit));
        let crab = Throttlecrab::new(limit, 1 << 10);
        run.take(
            work,
            vec![
                ("limit", round(&least, &caller)),
                ("tollgate", round(&ours, &caller)),
                ("tollgate, keys by foldhash", round(&quick, &caller)),
                ("tollgate, key at hand", known(&ours.0, run.decisions)),
                ("governor", round(&governor, &caller)),
                ("pingora-limits", round(&pingora, &caller)),
                ("throttlecrab", round(&crab, &caller)),
            ],
        )?;
        let (ours, governor) = (OursWithClock(ours), GovernorWithClock::new(limit));
        run.take(
            &format!("{work}, clock read"),
            vec![("tollgate", round(&ours, &caller)), ("governor", round(&governor, &caller))],
        )?;
    }
    Ok(())
}

/// Many callers, in a table with room for all.
fn spread(run: &mut Run) -> Outcome {
    for (work, requests) in [
        ("Zipf(1.0) over 2^20 callers", zipf(run.decisions)?),
        ("uniform over 2^20 callers", uniform(run.decisions)),
    ] {
        let (ours, least) = (Ours::new(GENEROUS, CAPACITY)?, Limit::new(CAPACITY));
        let quick = by_foldhash(GENEROUS, CAPACITY)?;
        let (governor, pingora) = (GovernorToldTheTime::new(GENEROUS), Pingora::new(GENEROUS));
        let crab = Throttlecrab::new(GENEROUS, CAPACITY);
        // Everybody is known before it is measured.
        for caller in 0..CALLERS {
            let address = address(caller);
            for subject in [&ours as &dyn Subject, &least, &quick, &governor, &pingora, &crab] {
                black_box(subject.decide(address));
            }
        }
        run.take(
            work,
            vec![
                ("limit", round(&least, &requests)),
                ("tollgate", round(&ours, &requests)),
                ("tollgate, keys by foldhash", round(&quick, &requests)),
                ("governor", round(&governor, &requests)),
                ("pingora-limits", round(&pingora, &requests)),
                ("throttlecrab", round(&crab, &requests)),
            ],
        )?;
    }
    Ok(())
}

/// 64 callers at once, beside the same one after the other.
fn batch(run: &mut Run) -> Outcome {
    let requests = uniform(run.decisions);
    let (single, together, least) =
        (Ours::new(GENEROUS, CAPACITY)?, Ours::new(GENEROUS, CAPACITY)?, Limit::new(CAPACITY));
    for caller in 0..CALLERS {
        for subject in [&single as &dyn Subject, &together, &least] {
            black_box(subject.decide(address(caller)));
        }
    }
    let many = || {
        let mut passed = 0;
        let began = on_core();
        for batch in requests.chunks(64) {
            let mut keys = [KEYER.address(address(0)); 64];
            keys.iter_mut().zip(batch).for_each(|(key, &address)| *key = KEYER.address(address));
            let keys = keys.get(..batch.len()).unwrap_or_default();
            together.0.check_many(keys, black_box(NOW), |_, verdict| passed += usize::from(verdict.passes()));
        }
        let seconds = on_core() - began;
        black_box(passed);
        Ok(mean(seconds, requests.len()))
    };
    run.take(
        "uniform over 2^20 callers, batches of 64",
        vec![
            ("limit", round(&least, &requests)),
            ("tollgate", round(&single, &requests)),
            ("tollgate, check_many", Box::new(many)),
        ],
    )
}

/// Every caller is new, and the table is full.
fn spray(run: &mut Run) -> Outcome {
    let capacity = 1 << 20;
    let (ours, least) = (Ours::new(SPRAYED, capacity)?, Limit::new(capacity));
    let (governor, pingora) = (GovernorToldTheTime::new(SPRAYED), Pingora::new(SPRAYED));
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
    )?;
    still_admits(&ours)?;
    let throttled = Ours::new(1, capacity)?;
    (0..CALLERS * 2).for_each(|caller| _ = black_box(throttled.decide(address(caller))));
    run.take(
        "spray, table full of throttled callers",
        vec![("limit", fresh(&least, run.decisions)), ("tollgate", fresh(&throttled, run.decisions))],
    )
}

/// A limit so large that words have room for every newcomer that inherits one: a refusal would write nothing.
const SPRAYED: u32 = 10_000;

/// Whether newcomers still take words over, and weren't only refused.
fn still_admits(ours: &Ours) -> Outcome {
    let passed = (0..1000).filter(|caller| ours.decide(address(u32::MAX - caller))).count();
    if passed < 999 {
        return Err(format!("{passed} of 1000 newcomers pass: raise the limit, or refusals are timed").into());
    }
    Ok(())
}

/// Spans over 50 µs between one decision and the next, while every caller is new; and those that the machine makes, of an
/// empty loop and of loops that only touch as much memory. All run for the same time, in turns, but that governor's last
/// span may outlast its turn.
fn gaps(run: &mut Run) -> Outcome {
    let (ours, least) = (Ours::new(SPRAYED, 1 << 20)?, Limit::new(1 << 20));
    let (governor, words) = (GovernorToldTheTime::new(SPRAYED), Words::new());
    for caller in 0..CALLERS * 2 {
        black_box(ours.decide(address(caller)));
        black_box(least.decide(address(caller)));
    }
    let subjects: [(&'static str, &dyn Subject); 5] = [
        ("tollgate", &ours),
        ("an empty loop", &Nothing),
        ("loads of four words", &words),
        ("limit", &least),
        ("governor", &governor),
    ];
    let (turns, turn) = if run.rounds > 1 { (60, 50) } else { (1, 1) };
    let mut found: [(u32, Vec<Duration>); 5] = Default::default();
    let contestants = subjects.iter().zip(&mut found).map(|(&(name, subject), (decisions, found))| {
        let mut callers = CALLERS * 8..;
        let one_turn = move || {
            let ends = Instant::now() + Duration::from_millis(turn);
            found.extend(long_gaps(ends, callers.by_ref().map(|caller| subject.decide(address(caller)))));
            *decisions = callers.start - CALLERS * 8;
            Ok(0.0)
        };
        (name, Box::new(one_turn) as Box<dyn FnMut() -> _>)
    });
    interleaved(turns, &mut contestants.collect::<Vec<_>>())?;
    still_admits(&ours)?;
    let mut sheet =
        Sheet::new(["spray, subject", "million decisions", "gaps over 10 us", "over 50 us", "longest, us"]);
    for ((subject, _), (decisions, gaps)) in subjects.into_iter().zip(&found) {
        let over = |micros| gaps.iter().filter(|gap| gap.as_micros() >= micros).count().to_string();
        let longest = gaps.iter().max().copied().unwrap_or_default().as_micros().to_string();
        let decisions = format!("{:.1}", f64::from(*decisions) / 1e6);
        sheet.add([subject.into(), decisions, over(10), over(50), longest]);
    }
    sheet.print();
    if run.rounds > 1 { Ok(sheet.write("target/gaps.tsv")?) } else { Ok(()) }
}

/// The spans of 10 µs and more from one to the next, to the first that ends after `ends`.
fn long_gaps(ends: Instant, decisions: impl Iterator<Item = bool>) -> Vec<Duration> {
    let mut last = Instant::now();
    let spans = decisions.map(|passes| {
        black_box(passes);
        let now = Instant::now();
        (last, now - std::mem::replace(&mut last, now))
    });
    let spans = spans.take_while(|(began, _)| *began < ends).map(|(_, span)| span);
    spans.filter(|span| *span >= Duration::from_micros(10)).collect()
}

/// A loop without a decision.
struct Nothing;

impl Subject for Nothing {
    fn decide(&self, address: IpAddr) -> bool {
        black_box(address).is_ipv4()
    }
}

/// Loads from as much memory as the table has, without a decision.
struct Words(Vec<u64>);

impl Words {
    fn new() -> Self {
        Self(vec![1; 1 << 20])
    }
}

impl Subject for Words {
    fn decide(&self, address: IpAddr) -> bool {
        let place = KEYER.address(address).fingerprint();
        let word =
            |shift: u32| usize::try_from((place >> shift) & 0xf_ffff).ok().and_then(|at| self.0.get(at));
        [0, 10, 20, 30].into_iter().filter_map(word).sum::<u64>() > 0
    }
}

/// The time of a decision in each of two threads at once, halved, since they do twice the work, beside one thread's.
fn threads(run: &mut Run) -> Outcome {
    let requests = zipf(run.decisions)?;
    let (ours, least, governor) =
        (Ours::new(GENEROUS, CAPACITY)?, Limit::new(CAPACITY), GovernorToldTheTime::new(GENEROUS));
    let subjects: [(&'static str, &dyn Subject); 3] =
        [("limit", &least), ("tollgate", &ours), ("governor", &governor)];
    run.gain("Zipf", &subjects, &requests)?;
    let (ours, governor) = (Ours::new(1, 1 << 10)?, GovernorToldTheTime::new(1));
    // Few enough for a core's own cache: two threads that read a longer list at once fetch it for each other.
    let caller = vec![address(7); run.decisions.min(1 << 13)];
    let subjects: [(&'static str, &dyn Subject); 3] =
        [("loads of one word", &Load(AtomicU64::new(1))), ("tollgate", &ours), ("governor", &governor)];
    run.gain("hot caller refused", &subjects, &caller)
}

/// The least that two threads can do with one word.
struct Load(AtomicU64);

impl Subject for Load {
    fn decide(&self, address: IpAddr) -> bool {
        black_box(address);
        // ORDERING: the cost of a load is what is measured; nothing is handed over.
        self.0.load(Ordering::Relaxed) == 0
    }
}

fn clock(run: &mut Run) -> Outcome {
    let decisions = run.decisions;
    let coarse = move || Ok(timed(decisions, |_| black_box(coarse_clock()).0 > 0));
    let precise = move || Ok(timed(decisions, |_| black_box(Instant::now()) > Instant::now()) / 2.0);
    run.take("a clock alone", vec![("coarse", Box::new(coarse)), ("precise", Box::new(precise))])
}

/// Four secrets of 64 bytes.
fn exemption(run: &mut Run) -> Outcome {
    let mut credentials = Credentials::<4>::default();
    let secrets: Vec<_> = (0..4).map(|n| format!("{n:064}")).collect();
    for secret in &secrets {
        credentials.add("service", secret.as_bytes())?;
    }
    let (credentials, decisions) = (&credentials, run.decisions);
    let right = secrets.last().ok_or("four secrets")?.clone().into_bytes();
    let verify = |presented: Vec<u8>| {
        move || Ok(timed(decisions, |_| credentials.verify(Some(black_box(&presented))) == Presented::Forged))
    };
    run.take(
        "exemption, 4 secrets of 64 bytes",
        vec![
            ("right", Box::new(verify(right))),
            ("wrong", Box::new(verify(vec![b'x'; 64]))),
            ("another length", Box::new(verify(vec![b'x'; 32]))),
        ],
    )
}

/// 512 MiB, which the operating system zeroes as it is touched.
fn building(run: &mut Run) -> Outcome {
    let build = || BoxedLimiter::with_capacity(Quota::per_minute(300), 1 << 26);
    drop(build()?);
    run.take(
        "a table of 2^26 callers, built",
        vec![("tollgate", Box::new(move || Ok(timed(1, |_| black_box(build()).is_ok()))))],
    )
}

fn by_foldhash(limit: u32, capacity: usize) -> Result<OursByFoldhash, Box<dyn Error>> {
    Ok(OursByFoldhash(Ours::new(limit, capacity)?.0, SeedableRandomState::fixed()))
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
