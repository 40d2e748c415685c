//! Who was throttled in the first act, as the report of throttled callers has it, beside who it was.

use std::net::IpAddr;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Cell, CellAlignment, LineStyle, Table};
use tollgate_axum::{Finding, Report, Throttled};

use crate::cast::{ROLES, Role};
use crate::play::Act;

/// The report for people, and what is wrong with it.
pub(crate) fn findings(report: &Report, before: &Act, limit: u32) -> (Table, Vec<String>) {
    let mut faults = Vec::new();
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_header(["throttled before", "it was", "it looks like", "429"]);
    for caller in refused(report) {
        let role = role_of(caller, limit);
        let count = Cell::new(caller.refused).set_alignment(CellAlignment::Right);
        table.add_row([
            Cell::new(&caller.address),
            Cell::new(role.map_or("nobody of the cast", Role::name)),
            Cell::new(caller.finding),
            count,
        ]);
        if role.is_none_or(|role| !fits(role, caller.finding)) {
            faults.push(format!(
                "the report takes {} for: {}",
                role.map_or("a stranger", Role::name),
                caller.finding
            ));
        }
    }
    for (role, tally) in ROLES.into_iter().zip(before) {
        if tally.throttled > 0 && !refused(report).any(|caller| role_of(caller, limit) == Some(role)) {
            faults.push(format!(
                "{} had 429 {} times and is not in the report",
                role.name(),
                tally.throttled
            ));
        }
    }
    (table, faults)
}

fn refused(report: &Report) -> impl Iterator<Item = &Throttled> {
    report.callers.iter().filter(|caller| caller.refused > 0)
}

/// Whether a finding is what an operator should be told of a role.
fn fits(role: Role, finding: Finding) -> bool {
    match role {
        Role::Edge | Role::Orchestrator => finding.is_own() || finding == Finding::SharedAddress,
        Role::Person | Role::Scraper => finding == Finding::OneCaller,
        Role::Forger => finding == Finding::Forging,
    }
}

fn role_of(caller: &Throttled, limit: u32) -> Option<Role> {
    let address: IpAddr = caller.address.parse().ok()?;
    let has = |role: &Role| (0..role.part(limit).addresses).any(|number| role.address(number) == address);
    ROLES.into_iter().find(has)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::Tally;
    use tollgate_axum::{Addresses, Gate, Quota};

    /// A report on some callers of roles, each refused so often with so many distinct tokens.
    fn report(callers: &[(Role, u32, u32)]) -> Report {
        let gate = Gate::builder(Quota::per_minute(1)).addresses(Addresses::Shown).build().unwrap();
        for &(role, refused, tokens) in callers {
            for request in 0..=refused {
                let token = format!("a token that nobody knows, number {}", request % tokens.max(1));
                let fields = [("x-internal-token", token)];
                let fields = if tokens > 0 { &fields[..] } else { &[] };
                let _ = gate.decide(Some(role.address(0).into()), fields);
            }
        }
        gate.throttled()
    }

    fn faults(callers: &[(Role, u32, u32)]) -> usize {
        let throttled = Tally { throttled: 50, ..Tally::default() };
        let mut before = Act::default();
        for role in [Role::Edge, Role::Orchestrator, Role::Scraper, Role::Forger] {
            before[role as usize] = throttled.clone();
        }
        findings(&report(callers), &before, 300).1.len()
    }

    #[test]
    fn each_wrong_finding_and_each_missing_caller_is_a_fault() {
        let good = [
            (Role::Edge, 50, 1),
            (Role::Orchestrator, 50, 1),
            (Role::Scraper, 50, 0),
            (Role::Forger, 50, 50),
        ];
        assert_eq!(faults(&good), 0);
        for (index, wrong) in
            [(Role::Edge, 50, 50), (Role::Orchestrator, 50, 0), (Role::Scraper, 50, 1), (Role::Forger, 50, 1)]
                .into_iter()
                .enumerate()
        {
            let mut callers = good;
            callers[index] = wrong;
            assert_eq!(faults(&callers), 1, "{wrong:?}");
            let rest: Vec<_> = good.into_iter().filter(|caller| caller.0 != wrong.0).collect();
            assert_eq!(faults(&rest), 1, "without {wrong:?}");
        }
    }
}
