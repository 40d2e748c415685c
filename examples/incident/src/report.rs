//! What the acts show, for people, and whether the fix holds.

use std::fmt;
use std::time::Duration;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Cell, CellAlignment, LineStyle, Table};
use tollgate_axum::{Mode, Quota};

use crate::cast::{ROLES, Role};
use crate::cluster::Counts;
use crate::findings::findings;
use crate::play::{Act, Tally};

pub(crate) struct Report {
    table: Table,
    /// Whom the first act throttled.
    throttled: Table,
    /// What is wrong with the acts after the first, or with the report on that.
    faults: Vec<String>,
    summary: String,
}

/// The second act against what the fix promises.
pub(crate) fn report(
    quota: Quota,
    mode: Mode,
    before: &Act,
    after: &Act,
    shared: Option<&(Act, Counts)>,
    throttled: &tollgate_axum::Report,
) -> Report {
    let (throttled, mut faults) = findings(throttled, before, quota.limit());
    let mut acts = vec![("before", before), ("after", after)];
    acts.extend(shared.map(|(act, _)| ("3 nodes", act)));
    for &(name, act) in &acts {
        for (role, tally) in ROLES.iter().zip(act) {
            if tally.lost + tally.other > 0 {
                let why = tally.trouble.as_deref().unwrap_or("no response");
                faults.push(format!(
                    "{name}, {}: {} went wrong ({why})",
                    role.name(),
                    tally.lost + tally.other
                ));
            }
        }
    }
    for (name, act) in acts.iter().skip(1) {
        for (role, tally) in ROLES.iter().zip(*act) {
            let fault = fault(*role, tally, quota, mode);
            faults.extend(fault.map(|fault| format!("{name}, {}: {fault}", role.name())));
        }
    }
    faults.extend(shared.and_then(|(act, counts)| shared_fault(act, *counts, quota, mode)));
    let summary = match faults.len() {
        0 if mode != Mode::Enforce => "Nobody is refused in this mode.".into(),
        0 => summary(before, after) + &shared.map(|(act, counts)| told(act, *counts)).unwrap_or_default(),
        wrong => format!("The fix does not hold, {wrong} things went wrong. {}", summary(before, after)),
    };
    Report { table: table(&acts), throttled, faults, summary }
}

/// What is wrong with three nodes' budget beside what would be wrong with one's: somebody who takes all it can get has to
/// get the limit, but for what nodes were lent and did not spend; and the store decides, or it is another act.
fn shared_fault(act: &Act, counts: Counts, quota: Quota, mode: Mode) -> Option<String> {
    if mode != Mode::Enforce {
        return None;
    }
    if counts.without_store > 0 {
        return Some(format!("3 nodes: the store gave no answer to {} requests", counts.without_store));
    }
    let (passed, requests) = (act[Role::Scraper as usize].passed, act[Role::Scraper as usize].requests);
    let least = u64::from(quota.limit()) * 19 / 20;
    (passed < least.min(requests))
        .then(|| format!("3 nodes, {}: only {passed} of {} got through", Role::Scraper.name(), quota.limit()))
}

fn told(act: &Act, counts: Counts) -> String {
    let scraper = &act[Role::Scraper as usize];
    let counted: u64 =
        ROLES.iter().zip(act).filter(|(role, _)| !role.is_internal()).map(|(_, tally)| tally.requests).sum();
    format!(
        "\nOn three nodes with one budget the scraper, which calls all of them, gets {} requests through in total; {counted} \
         counted requests took {} round trips to the store.",
        scraper.passed, counts.round_trips
    )
}

/// What a role got in the second act that it should not have got.
fn fault(role: Role, tally: &Tally, quota: Quota, mode: Mode) -> Option<String> {
    let Tally { requests, passed, unauthorized, throttled, took, .. } = tally;
    if mode != Mode::Enforce {
        let refused = throttled + if role.is_internal() { *unauthorized } else { 0 };
        return (refused > 0).then(|| format!("{refused} requests were refused, and none is in this mode"));
    }
    match role {
        Role::Edge | Role::Orchestrator if throttled + unauthorized > 0 => {
            Some(format!("{} of {requests} requests were refused", throttled + unauthorized))
        }
        Role::Person if *throttled > 0 => Some(format!("{throttled} requests of people were refused")),
        Role::Scraper | Role::Forger if passed + unauthorized > allowed(quota, *took) => Some(format!(
            "{} requests were let through, and {} are allowed",
            passed + unauthorized,
            allowed(quota, *took)
        )),
        _ => None,
    }
}

/// The most that one address may be admitted in a time. With fixed windows a limit for each that can have begun in it;
/// otherwise a limit at once and then its rate, and one more for rounding. (Windows are enforced up to 0.1 % short, and
/// the clock may be some milliseconds behind.)
fn allowed(quota: Quota, took: Duration) -> u64 {
    let took = (took + took / 500 + Duration::from_millis(20)).as_nanos();
    let (limit, window) = (u128::from(quota.limit()), u128::from(quota.window().0).max(1));
    let is_fixed = quota == Quota::new(quota.limit(), quota.window());
    let most = if is_fixed {
        limit.saturating_mul(1 + took / window)
    } else {
        limit.saturating_add(limit.saturating_mul(took) / window + 1)
    };
    u64::try_from(most).unwrap_or(u64::MAX)
}

/// A column's title and what it shows.
type Column = (&'static str, fn(&Tally) -> u64);

const COLUMNS: [Column; 3] =
    [("2xx", |tally| tally.passed), ("401", |tally| tally.unauthorized), ("429", |tally| tally.throttled)];
/// Columns for what should not happen, shown when it does.
const UNWANTED: [Column; 2] = [("other", |tally| tally.other), ("lost", |tally| tally.lost)];

fn table(acts: &[(&str, &Act)]) -> Table {
    let sum = |of: fn(&Tally) -> u64| acts.iter().flat_map(|(_, act)| act.iter()).map(of).sum::<u64>();
    let mut columns = COLUMNS.to_vec();
    columns.extend(UNWANTED.iter().filter(|(_, of)| sum(*of) > 0));

    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    let number = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let titles = acts.iter();
    let titles = titles.flat_map(|(act, _)| columns.iter().map(move |(name, _)| format!("{act}\n{name}")));
    let titles = std::iter::once("requests".to_owned()).chain(titles).map(number);
    table.set_header(std::iter::once(Cell::new("caller")).chain(titles));
    for (index, role) in ROLES.iter().enumerate() {
        let tallies = || acts.iter().map(|(_, act)| &act[index]);
        let numbers = tallies().flat_map(|tally| columns.iter().map(|(_, of)| of(tally)));
        let numbers = tallies().take(1).map(|tally| tally.requests).chain(numbers);
        let numbers = numbers.map(|figure| number(figure.to_string()));
        table.add_row(std::iter::once(Cell::new(role.name())).chain(numbers));
    }
    table
}

fn summary(before: &Act, after: &Act) -> String {
    let throttled = |act: &Act| {
        let own = ROLES.iter().zip(act).filter(|(role, _)| role.is_internal());
        own.fold((0, 0), |(throttled, requests), (_, tally)| {
            (throttled + tally.throttled, requests + tally.requests)
        })
    };
    let ((before, requests), (after, _)) = (throttled(before), throttled(after));
    match (before, after) {
        (0, 0) => "No internal request was refused even before: a lower --limit shows the incident.".into(),
        (before, 0) => format!(
            "Before, {before} of the platform's own {requests} requests were refused with 429; after, none is."
        ),
        (before, after) => {
            format!(
                "Of the platform's own {requests} requests {before} were refused before, and {after} after."
            )
        }
    }
}

impl Report {
    /// Whether the fix holds.
    pub(crate) fn holds(&self) -> bool {
        self.faults.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n\n{}", self.throttled, self.table)?;
        for fault in &self.faults {
            writeln!(f, "WRONG: {fault}")?;
        }
        f.write_str(&self.summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_axum::Gate;

    fn tally(passed: u64, unauthorized: u64, throttled: u64) -> Tally {
        let requests = passed + unauthorized + throttled;
        Tally { requests, passed, unauthorized, throttled, took: Duration::from_secs(1), ..Tally::default() }
    }

    fn good() -> Act {
        [tally(1440, 0, 0), tally(480, 0, 0), tally(1000, 0, 0), tally(300, 0, 2700), tally(150, 150, 300)]
    }

    fn holds(change: impl FnOnce(&mut Act)) -> bool {
        let mut after = good();
        change(&mut after);
        let nobody = Gate::builder(Quota::per_minute(300)).build().unwrap().throttled();
        report(Quota::per_minute(300), Mode::Enforce, &Act::default(), &after, None, &nobody).holds()
    }

    fn three_hold(change: impl FnOnce(&mut Act, &mut Counts)) -> bool {
        let mut shared = (good(), Counts { without_store: 0, round_trips: 200 });
        change(&mut shared.0, &mut shared.1);
        let nobody = Gate::builder(Quota::per_minute(300)).build().unwrap().throttled();
        let (quota, mode) = (Quota::per_minute(300), Mode::Enforce);
        report(quota, mode, &Act::default(), &good(), Some(&shared), &nobody).holds()
    }

    #[test]
    fn a_fault_of_three_nodes_is_seen() {
        assert!(three_hold(|_, _| {}));
        assert!(three_hold(|act, _| act[3] = tally(285, 0, 2715)));
        assert!(!three_hold(|act, _| act[3] = tally(284, 0, 2716)));
        assert!(!three_hold(|act, _| act[3] = tally(301, 0, 2699)));
        assert!(!three_hold(|act, _| act[0] = tally(1439, 0, 1)));
        assert!(!three_hold(|act, _| act[1].lost = 1));
        assert!(!three_hold(|_, counts| counts.without_store = 1));
    }

    #[test]
    fn a_fault_of_any_kind_is_seen() {
        assert!(holds(|_| {}));
        assert!(!holds(|act| act[0] = tally(1439, 0, 1)));
        assert!(!holds(|act| act[1] = tally(479, 1, 0)));
        assert!(!holds(|act| act[2] = tally(999, 0, 1)));
        assert!(!holds(|act| act[3] = tally(301, 0, 2699)));
        assert!(!holds(|act| act[4] = tally(150, 151, 299)));
        assert!(!holds(|act| act[2].lost = 1));
        assert!(!holds(|act| act[3].other = 1));
    }

    #[test]
    fn each_window_that_can_have_begun_allows_a_limit() {
        let quota = Quota::per_minute(300);
        assert_eq!(allowed(quota, Duration::from_secs(1)), 300);
        assert_eq!(allowed(quota, Duration::from_secs(61)), 600);
        assert_eq!(allowed(quota, Duration::from_secs(121)), 900);
        for finer in [quota.sliding(), quota.burst(300)] {
            assert_eq!(allowed(finer, Duration::from_secs(1)), 306);
        }
    }
}
