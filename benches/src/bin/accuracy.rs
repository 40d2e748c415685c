//! How often a table with too little room decides wrongly, beside exact windows in a map without bounds: ours under each
//! policy for its overflow, and a count-min sketch of the same bytes. Ours are the same on every machine, since the seeds
//! are fixed. Prints a table, writes `target/accuracy.tsv` and `docs/plots/accuracy.svg`. With `--test` it takes one
//! trial, and draws into `target/`.

use std::env;
use std::error::Error;

use benches::percent;
use benches::plot::{Axis, Legend, Line, Panel, Plot};
use benches::sheet::Sheet;
use benches::subjects::KEYER;
use benches::trace::zipf;
use hashbrown::HashMap;
use pingora_limits::estimator::Estimator;
use tollgate::{BoxedLimiter, Nanos, Overflow, Presented, Quota};

fn main() -> Result<(), Box<dyn Error>> {
    let is_test = env::args().any(|argument| argument == "--test");
    let trials = if is_test { 1 } else { 4 };
    let columns = ["limit", "callers_per_slot", "subject", "wrong", "admitted_wrongly", "refused_wrongly"];
    let (mut sheet, mut panels) = (Sheet::new(columns), Vec::new());
    for (limit, titles) in [
        (10, ["Limit 10: admitted, and should be refused", "Limit 10: refused, and should be admitted"]),
        (100, ["Limit 100: admitted, and should be refused", "Limit 100: refused, and should be admitted"]),
    ] {
        let mut lines = [const { Vec::new() }; 2];
        for (name, subject) in SUBJECTS {
            let mut points = [const { Vec::new() }; 2];
            for load in LOADS {
                let wrong = subject.decide(limit, load, trials)?;
                let (admitted, refused) = (wrong.admitted, wrong.refused);
                for (points, part) in points.iter_mut().zip([admitted, refused]) {
                    points.push((load, share(part, wrong.requests).max(LEAST).log10()));
                }
                let all = [admitted + refused, admitted, refused].map(|part| percent(part, wrong.requests));
                let [all, admitted, refused] = all;
                sheet.add([limit.to_string(), load.to_string(), name.into(), all, admitted, refused]);
            }
            for (lines, points) in lines.iter_mut().zip(points) {
                lines.push(Line { name, points });
            }
        }
        for (title, lines) in titles.into_iter().zip(lines) {
            panels.push(panel(title, lines));
        }
    }
    sheet.print();
    if !is_test {
        sheet.write("target/accuracy.tsv")?;
    }
    let title = "Wrong decisions on Zipf(1.0) traces, by callers per slot";
    Plot { title, panels }.write(if is_test { "target/accuracy.svg" } else { "docs/plots/accuracy.svg" })
}

/// Who decides.
#[derive(Clone, Copy)]
enum Subject {
    /// Our table, 8 bytes a slot.
    Ours(Overflow),
    /// pingora-limits' estimator with four hashes, its default, in the same bytes. It is emptied when a window begins.
    CountMin,
}

const SUBJECTS: [(&str, Subject); 5] = [
    ("Inherit (default)", Subject::Ours(Overflow::Inherit)),
    ("Forget", Subject::Ours(Overflow::Forget)),
    ("Refuse", Subject::Ours(Overflow::Refuse)),
    ("Admit", Subject::Ours(Overflow::Admit)),
    ("count-min sketch", Subject::CountMin),
];

/// Callers for each slot.
const LOADS: [f64; 6] = [0.5, 0.75, 1.0, 1.5, 2.0, 4.0];

/// So many that chance evens out, so few that all of it is in a cache.
const SLOTS: u32 = 4096;

/// Requests in a window, for each caller on average.
const REQUESTS: u32 = 10;

const WINDOWS: u64 = 10;

/// Of one trace or several.
#[derive(Default)]
struct Wrong {
    requests: u64,
    /// Where exact windows refuse.
    admitted: u64,
    /// Where exact windows admit.
    refused: u64,
}

impl Subject {
    fn decide(self, limit: u32, load: f64, trials: u64) -> Result<Wrong, Box<dyn Error>> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 16,384")]
        let callers = (f64::from(SLOTS) * load) as u32;
        let in_a_window = u64::from(callers * REQUESTS);
        let mut wrong = Wrong::default();
        for trial in 0..trials {
            let trace = zipf(callers, usize::try_from(in_a_window * WINDOWS)?, trial)?;
            // So that each trial has other callers, in other slots.
            let trace = trace.into_iter().map(|caller| u64::from(caller) | trial << 32);
            match self {
                Self::Ours(overflow) => wrong.add_ours(overflow, limit, in_a_window, trace)?,
                Self::CountMin => wrong.add_count_min(limit, in_a_window, trace)?,
            }
        }
        Ok(wrong)
    }
}

impl Wrong {
    /// A caller's window begins with its first request, for the table and for the exact windows.
    fn add_ours(
        &mut self,
        overflow: Overflow,
        limit: u32,
        in_a_window: u64,
        trace: impl Iterator<Item = u64>,
    ) -> Result<(), Box<dyn Error>> {
        let limiter = BoxedLimiter::with_capacity(Quota::per_minute(limit), usize::try_from(SLOTS)?)?
            .with_overflow(overflow);
        let window = limiter.enforced_window().0;
        let mut exact: HashMap<u64, (u64, u32)> = HashMap::new();
        for (request, caller) in (0..).zip(trace) {
            let now = MINUTE + request * (window / in_a_window);
            let key = KEYER.bytes(&caller.to_le_bytes());
            let passes = limiter.check(key, Presented::Absent, Nanos(now)).passes();
            let (start, wanted) = exact.entry(caller).or_insert((now / TICK * TICK, 0));
            if now >= *start + window {
                (*start, *wanted) = (now / TICK * TICK, 0);
            }
            *wanted += 1;
            self.count(passes, *wanted <= limit);
        }
        Ok(())
    }

    /// All windows begin at once, for the sketch and for the exact counts.
    fn add_count_min(
        &mut self,
        limit: u32,
        in_a_window: u64,
        trace: impl Iterator<Item = u64>,
    ) -> Result<(), Box<dyn Error>> {
        let sketch = Estimator::new(HASHES, usize::try_from(SLOTS)? / HASHES);
        let mut exact: HashMap<u64, u32> = HashMap::new();
        for (request, caller) in (0_u64..).zip(trace) {
            if request % in_a_window == 0 {
                sketch.reset();
                exact.clear();
            }
            let passes = sketch.incr(caller, 1) <= isize::try_from(limit)?;
            let wanted = exact.entry(caller).or_insert(0);
            *wanted += 1;
            self.count(passes, *wanted <= limit);
        }
        Ok(())
    }

    fn count(&mut self, passes: bool, should: bool) {
        self.requests += 1;
        self.admitted += u64::from(passes && !should);
        self.refused += u64::from(!passes && should);
    }
}

fn panel<'p>(title: &'p str, lines: Vec<Line<'p>>) -> Panel<'p> {
    let x = Axis::new("callers per slot", 0.5..4.0).written(|number| format!("{number:.1}"));
    let y = Axis::new("% of decisions", LEAST.log10()..2.0).written(|exponent| {
        let share = 10_f64.powf(exponent);
        if share <= LEAST * 1.01 { "0".into() } else { format!("{share}") }
    });
    Panel { title, x, y, lines, legend: Legend::LowerRight }
}

/// The least that is drawn, in %; whatever is below stands there.
const LEAST: f64 = 0.000_1;

#[expect(clippy::cast_precision_loss, reason = "both are far below 2⁵²")]
fn share(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole as f64
}

/// pingora-limits' own number.
const HASHES: usize = 4;

const MINUTE: u64 = 60_000_000_000;

/// A window of a minute begins with a tick of 2²⁴ ns.
const TICK: u64 = 1 << 24;
