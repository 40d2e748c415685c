//! One run of rounds: the contestants' times, and the table of them.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use benches::rounds::{Contestant, interleaved, median, on_core};
use benches::sheet::Sheet;
use benches::subjects::{KEYER, NOW, Subject, address};
use tollgate::{BoxedLimiter, Presented};

use crate::{CALLERS, Outcome};

pub(crate) struct Run {
    pub(crate) rounds: usize,
    pub(crate) decisions: usize,
    rows: Vec<Row>,
}

struct Row {
    work: String,
    subject: &'static str,
    nanos: f64,
}

impl Run {
    pub(crate) const fn new() -> Self {
        Self { rounds: 0, decisions: 0, rows: Vec::new() }
    }

    /// Rounds of all contestants in turn; the median of each.
    pub(crate) fn take(&mut self, work: &str, mut contestants: Vec<Contestant<'_>>) -> Outcome {
        let spans = interleaved(self.rounds, &mut contestants)?;
        for ((subject, _), spans) in contestants.iter().zip(spans) {
            self.rows.push(Row { work: work.into(), subject, nanos: median(spans) });
        }
        Ok(())
    }

    /// The same work by one thread and by two, and how many times as much two do.
    pub(crate) fn gain(
        &mut self,
        work: &str,
        subjects: &[(&'static str, &dyn Subject)],
        requests: &[IpAddr],
    ) -> Outcome {
        let times = (self.decisions / requests.len()).max(1);
        let one = |subject| Box::new(move || Ok(over(subject, requests, times))) as Box<dyn FnMut() -> _>;
        let two = |subject| Box::new(move || Ok(both(subject, requests, times))) as Box<dyn FnMut() -> _>;
        let contestants =
            subjects.iter().flat_map(|&(name, subject)| [(name, one(subject)), (name, two(subject))]);
        let spans = interleaved(self.rounds, &mut contestants.collect::<Vec<_>>())?;
        let mut sheet = Sheet::new(["two threads", "subject", "times the work of one"]);
        for (&(subject, _), spans) in subjects.iter().zip(spans.chunks(2)) {
            let [one, two] = [0, 1].map(|which| spans.get(which).cloned().map_or(f64::NAN, median));
            sheet.add([work.into(), subject.into(), format!("{:.2}", one / two)]);
            self.rows.push(Row { work: format!("one thread, {work}"), subject, nanos: one });
            self.rows.push(Row { work: format!("two threads, {work}"), subject, nanos: two });
        }
        sheet.print();
        Ok(())
    }

    /// What each took, beside the limit and beside governor, where they did the same work.
    pub(crate) fn sheet(&self) -> Sheet<5> {
        let mut of: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        of.extend(self.rows.iter().map(|row| ((row.work.as_str(), row.subject), row.nanos)));
        let mut sheet =
            Sheet::new(["work", "subject", "ns_per_decision", "ratio_to_limit", "ratio_to_governor"]);
        for row in &self.rows {
            let ratio = |other: &str| {
                let other = of.get(&(row.work.as_str(), other));
                other.map_or(String::new(), |other| format!("{:.3}", row.nanos / other))
            };
            let nanos = format!("{:.2}", row.nanos);
            sheet.add([row.work.clone(), row.subject.into(), nanos, ratio("limit"), ratio("governor")]);
        }
        sheet
    }
}

/// The mean time of a call on its core, whatever it answers, in nanoseconds.
pub(crate) fn timed(calls: usize, mut call: impl FnMut(usize) -> bool) -> f64 {
    let began = on_core();
    let passed = (0..calls).filter(|&index| call(index)).count();
    let seconds = on_core() - began;
    black_box(passed);
    mean(seconds, calls)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2⁵²")]
pub(crate) fn mean(seconds: f64, calls: usize) -> f64 {
    seconds * 1e9 / calls as f64
}

/// The same requests in each round.
pub(crate) fn round<'s, S: Subject>(
    subject: &'s S,
    requests: &'s [IpAddr],
) -> Box<dyn FnMut() -> Result<f64, Box<dyn Error>> + 's> {
    Box::new(move || Ok(decide(subject, requests)))
}

#[inline(never)]
fn decide<S: Subject + ?Sized>(subject: &S, requests: &[IpAddr]) -> f64 {
    let mut requests = requests.iter();
    timed(requests.len(), |_| requests.next().is_some_and(|&address| subject.decide(address)))
}

/// One caller whose key was made before, as it is where a connection has one.
pub(crate) fn known(
    limiter: &BoxedLimiter,
    decisions: usize,
) -> Box<dyn FnMut() -> Result<f64, Box<dyn Error>> + '_> {
    let key = KEYER.address(address(7));
    Box::new(move || {
        Ok(timed(decisions, |_| limiter.check(black_box(key), Presented::Absent, black_box(NOW)).passes()))
    })
}

/// New callers in each round.
pub(crate) fn fresh<S: Subject>(
    subject: &S,
    decisions: usize,
) -> Box<dyn FnMut() -> Result<f64, Box<dyn Error>> + '_> {
    let next = AtomicU32::new(CALLERS * 8);
    Box::new(move || Ok(timed(decisions, |_| subject.decide(address(next.fetch_add(1, Ordering::Relaxed))))))
}

/// So many times over.
#[inline(never)]
fn over<S: Subject + ?Sized>(subject: &S, requests: &[IpAddr], times: usize) -> f64 {
    let began = on_core();
    let passed = || requests.iter().filter(|&&address| subject.decide(address)).count();
    let passed: usize = (0..times).map(|_| passed()).sum();
    let seconds = on_core() - began;
    black_box(passed);
    mean(seconds, requests.len() * times)
}

fn both<S: Subject + ?Sized>(subject: &S, requests: &[IpAddr], times: usize) -> f64 {
    let barrier = Barrier::new(2);
    let work = || {
        barrier.wait();
        over(subject, requests, times)
    };
    let spans = thread::scope(|scope| {
        [scope.spawn(work), scope.spawn(work)].map(|thread| thread.join().unwrap_or(f64::NAN))
    });
    spans.iter().sum::<f64>() / 4.0
}
