//! How a decision's time grows: with the table's capacity, with the callers for each of its slots, and with the number of
//! limits that a request must keep. Prints tables, writes `target/growth-*.tsv` and `docs/plots/growth.svg`. With `--test`
//! it takes small tables and one round, and draws into `target/`.

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::ops::Range;
use std::thread;

use benches::plot::{Axis, Legend, Line, Panel, Plot};
use benches::rounds::{Contestant, interleaved, median, timed};
use benches::sheet::Sheet;
use benches::subjects::{GovernorToldTheTime, KEYER, Limit, Ours, Subject, address};
use benches::trace::Uniform;
use tollgate::{BoxedLimiter, Limit as AnyLimit, Nanos, Presented, Quota, check_all};

/// How much is measured.
struct Run {
    is_test: bool,
    rounds: usize,
    decisions: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let is_test = env::args().any(|argument| argument == "--test");
    let (rounds, decisions) = if is_test { (1, 1 << 10) } else { (21, 1 << 15) };
    let run = Run { is_test, rounds, decisions };
    let panels = vec![run.capacities()?, run.loads()?, run.limits()?];
    let plot = Plot { title: "How the time of a decision grows", panels };
    plot.write(if is_test { "target/growth.svg" } else { "docs/plots/growth.svg" })
}

impl Run {
    /// Tables of more and more slots, each with half as many callers, whose requests come in no order.
    fn capacities(&self) -> Result<Panel<'static>, Box<dyn Error>> {
        let mut figures = Figures::new("capacity");
        let most = if self.is_test { 12 } else { 26 };
        for exponent in (10..=most).step_by(2) {
            let capacity = 1 << exponent;
            let callers = u32::try_from(capacity / 2)?;
            let (ours, least) = (Ours::new(GENEROUS, capacity)?, Limit::new(capacity));
            // A map of more callers takes long to fill.
            let governor = (exponent <= 22).then(|| GovernorToldTheTime::new(GENEROUS));
            let mut subjects: Vec<(&str, &dyn Subject)> = vec![("tollgate", &ours), ("limit", &least)];
            subjects.extend(governor.as_ref().map(|governor| ("governor", governor as &dyn Subject)));
            self.decide(&mut figures, f64::from(exponent), &capacity.to_string(), callers, &subjects)?;
        }
        figures.sheet.print();
        figures.write(self.is_test, "target/growth-capacity.tsv")?;
        let x = Axis::new("capacity, callers", 10.0..26.0).written(power_of_two);
        let mut panel = figures.panel("Capacity; half as many callers, in no order", x);
        panel.y = Axis::new("ns per decision", 0.0..3.0).written(power_of_ten);
        panel
            .lines
            .iter_mut()
            .flat_map(|line| &mut line.points)
            .for_each(|(_, nanos)| *nanos = nanos.log10());
        Ok(panel)
    }

    /// One table with more and more callers.
    fn loads(&self) -> Result<Panel<'static>, Box<dyn Error>> {
        let mut figures = Figures::new("callers_per_slot");
        let capacity = if self.is_test { 1 << 10 } else { 1 << 18 };
        for fortieths in [4_u32, 10, 20, 30, 36, 40, 50, 60, 80, 120, 160] {
            let load = f64::from(fortieths) / 40.0;
            let callers = u32::try_from(capacity)? / 40 * fortieths;
            let (ours, governor) = (Ours::new(GENEROUS, capacity)?, GovernorToldTheTime::new(GENEROUS));
            let subjects: [(&str, &dyn Subject); 2] = [("tollgate", &ours), ("governor", &governor)];
            self.decide(&mut figures, load, &format!("{load:.2}"), callers, &subjects)?;
        }
        figures.sheet.print();
        figures.write(self.is_test, "target/growth-load.tsv")?;
        let x = Axis::new("callers per slot", 0.0..4.0).written(|number| format!("{number:.1}"));
        Ok(figures.panel("Callers per slot, of 2^18 slots", x))
    }

    /// One caller held to more and more limits, each with a table of its own.
    fn limits(&self) -> Result<Panel<'static>, Box<dyn Error>> {
        let mut figures = Figures::new("limits");
        let tables: Vec<_> = (0..4)
            .map(|_| BoxedLimiter::with_capacity(Quota::per_minute(GENEROUS), 1 << 10))
            .collect::<Result<_, _>>()?;
        let [first, second, third, fourth] = &tables[..] else { return Err("four tables".into()) };
        let refused = BoxedLimiter::with_capacity(Quota::per_minute(1), 1 << 10)?;
        let mut contestants: Vec<Contestant<'_>> = vec![
            ("1 admits", self.all([first])),
            ("2 admits", self.all([first, second])),
            ("3 admits", self.all([first, second, third])),
            ("4 admits", self.all([first, second, third, fourth])),
            ("1 refuses", self.all([&refused])),
            ("2 refuses", self.all([first, &refused])),
            ("3 refuses", self.all([first, second, &refused])),
            ("4 refuses", self.all([first, second, third, &refused])),
        ];
        let spans = interleaved(self.rounds, &mut contestants)?;
        for ((name, _), spans) in contestants.iter().zip(spans) {
            let (limits, verdict) = name.split_once(' ').ok_or("a number and a verdict")?;
            let subject = if verdict == "admits" { "admitted by all" } else { "refused by the last" };
            figures.add(limits.parse()?, limits, subject, median(spans));
        }
        figures.sheet.print();
        figures.write(self.is_test, "target/growth-limits.tsv")?;
        let x = Axis::new("limits", 0.0..4.0).written(whole);
        Ok(figures.panel("Limits of one request, one caller", x))
    }

    fn all<'c, const N: usize>(
        &self,
        tables: [&'c BoxedLimiter; N],
    ) -> Box<dyn FnMut() -> Result<f64, Box<dyn Error>> + 'c> {
        let decisions = self.decisions;
        Box::new(move || {
            timed(decisions, |_| {
                let key = KEYER.address(black_box(address(7)));
                let limits = tables.map(|table| (table as &dyn AnyLimit, key));
                let _ = black_box(check_all(limits, Presented::Absent, black_box(NOW), 1));
                true
            })
        })
    }

    /// Makes all callers known to the subjects, and times them.
    fn decide(
        &self,
        figures: &mut Figures,
        x: f64,
        written: &str,
        callers: u32,
        subjects: &[(&'static str, &dyn Subject)],
    ) -> Result<(), Box<dyn Error>> {
        // An array has no callers that it must come to know.
        for (_, subject) in subjects.iter().filter(|(name, _)| *name != "limit") {
            let fill = |callers: Range<u32>| callers.for_each(|caller| _ = subject.decide(address(caller)));
            thread::scope(|scope| {
                for half in [0..callers / 2, callers / 2..callers] {
                    scope.spawn(move || fill(half));
                }
            });
        }
        let decisions = self.decisions;
        let mut contestants: Vec<Contestant<'_>> = Vec::new();
        for &(name, subject) in subjects {
            // Others in each round, so that no round finds its callers in a cache.
            let mut requests = Uniform::new(callers);
            let round = move || {
                timed(decisions, |_| {
                    let caller = requests.next().unwrap_or(0);
                    black_box(subject.decide(address(caller)));
                    true
                })
            };
            contestants.push((name, Box::new(round)));
        }
        let spans = interleaved(self.rounds, &mut contestants)?;
        for ((subject, _), spans) in contestants.iter().zip(spans) {
            figures.add(x, written, subject, median(spans));
        }
        Ok(())
    }
}

/// One panel's figures.
struct Figures {
    sheet: Sheet<3>,
    lines: Vec<Line<'static>>,
}

impl Figures {
    fn new(x: &'static str) -> Self {
        Self { sheet: Sheet::new([x, "subject", "ns_per_decision"]), lines: Vec::new() }
    }

    fn add(&mut self, x: f64, written: &str, subject: &'static str, nanos: f64) {
        self.sheet.add([written.into(), subject.into(), format!("{nanos:.1}")]);
        match self.lines.iter_mut().find(|line| line.name == subject) {
            Some(line) => line.points.push((x, nanos)),
            None => self.lines.push(Line { name: subject, points: vec![(x, nanos)] }),
        }
    }

    fn write(&self, is_test: bool, path: &str) -> Result<(), Box<dyn Error>> {
        if !is_test {
            self.sheet.write(path)?;
        }
        Ok(())
    }

    fn panel(self, title: &'static str, x: Axis<'static>) -> Panel<'static> {
        let most = self.lines.iter().flat_map(|line| &line.points).map(|(_, nanos)| *nanos);
        // Room for the legend.
        let most = most.fold(0.0, f64::max) * 1.35;
        let y = Axis::new("ns per decision", 0.0..most);
        Panel { title, x, y, lines: self.lines, legend: Legend::UpperLeft }
    }
}

fn power_of_two(exponent: f64) -> String {
    format!("2^{exponent:.0}")
}

fn power_of_ten(exponent: f64) -> String {
    if exponent.fract() == 0.0 { format!("{:.0}", 10_f64.powf(exponent)) } else { String::new() }
}

/// Nothing is written between whole numbers.
fn whole(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number}") } else { String::new() }
}

/// The limit of somebody who is never refused.
const GENEROUS: u32 = 4_000_000;

const NOW: Nanos = Nanos(1 << 40);
