//! What the two acts show, for people, and whether the fix holds.

use std::fmt;
use std::time::Duration;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Cell, CellAlignment, LineStyle, Table};
use tollgate_axum::{Mode, Quota};

use crate::cast::{ROLES, Role};
use crate::findings::findings;
use crate::play::{Act, Tally};

pub(crate) struct Report {
    table: Table,
    /// Whom the first act throttled.
    throttled: Table,
    /// What is wrong with the second act, or with the report on the first.
    faults: Vec<String>,
    summary: String,
}

/// The second act against what the fix promises.
pub(crate) fn report(
    quota: Quota,
    mode: Mode,
    before: &Act,
    after: &Act,
    throttled: &tollgate_axum::Report,
) -> Report {
    let (throttled, mut faults) = findings(throttled, before, quota.limit());
    for (act, name) in [(before, "before"), (after, "after")] {
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
    for (role, tally) in ROLES.iter().zip(after) {
        faults
            .extend(fault(*role, tally, quota, mode).map(|fault| format!("after, {}: {fault}", role.name())));
    }
    let summary = match faults.len() {
        0 if mode != Mode::Enforce => "Nobody is refused in this mode.".into(),
        0 => summary(before, after),
        wrong => format!("The fix does not hold, {wrong} things went wrong. {}", summary(before, after)),
    };
    Report { table: table(before, after), throttled, faults, summary }
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

fn table(before: &Act, after: &Act) -> Table {
    let sum = |of: fn(&Tally) -> u64| before.iter().chain(after).map(of).sum::<u64>();
    let mut columns = COLUMNS.to_vec();
    columns.extend(UNWANTED.iter().filter(|(_, of)| sum(*of) > 0));

    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    let number = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let titles = ["before", "after"].into_iter();
    let titles = titles.flat_map(|act| columns.iter().map(move |(name, _)| format!("{act}\n{name}")));
    let titles = std::iter::once("requests".to_owned()).chain(titles).map(number);
    table.set_header(std::iter::once(Cell::new("caller")).chain(titles));
    for ((role, before), after) in ROLES.iter().zip(before).zip(after) {
        let numbers = [before, after].into_iter().flat_map(|tally| columns.iter().map(|(_, of)| of(tally)));
        let numbers = std::iter::once(after.requests).chain(numbers);
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
        report(Quota::per_minute(300), Mode::Enforce, &Act::default(), &after, &nobody).holds()
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
