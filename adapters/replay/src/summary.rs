use std::fmt;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Cell, CellAlignment, LineStyle, Table};
use tollgate_replay::{ADVICE, Judged, Outcome, Verdict};

use crate::figures::{counted, grouped, percent};

/// What came of a replay, for people.
pub(crate) struct Summary<'o>(pub(crate) &'o Outcome);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = self.0;
        self.read(f)?;
        if outcome.requests > 0 && !outcome.policies.is_empty() {
            writeln!(f, "\n{}", policies(outcome))?;
        }
        for policy in outcome.policies.iter().filter(|policy| !policy.ranked.is_empty()) {
            let of = match usize::try_from(policy.refused_callers) {
                Ok(all) if all > SHOWN => format!(", {SHOWN} of {all}"),
                _ => String::new(),
            };
            writeln!(f, "\nRefused by {}{of}:\n{}", policy.name, ranked(policy))?;
            for verdict in Verdict::ALL {
                let count =
                    policy.ranked.iter().take(SHOWN).filter(|caller| caller.verdict == verdict).count();
                if count > 0 {
                    writeln!(f, "{count} × {verdict}: {}.", verdict.advice())?;
                }
            }
        }
        self.suggested(f)?;
        for (index, note) in outcome.notes.iter().enumerate() {
            writeln!(f, "{}{note}", if index == 0 { "\nNotes:\n" } else { "" })?;
        }
        Ok(())
    }
}

impl Summary<'_> {
    fn read(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = self.0;
        let about = if outcome.callers_are_estimated { "about " } else { "" };
        write!(
            f,
            "{} of {about}{}",
            counted(outcome.requests, "request"),
            counted(outcome.callers, "caller")
        )?;
        if let (Some(begin), Some(end)) = (&outcome.begin, &outcome.end) {
            write!(f, ", from {begin} to {end}")?;
        }
        writeln!(f, "; {} could not be parsed.", counted(outcome.unparsed, "line"))?;
        for reading in &outcome.inputs {
            if let Some(format) = &reading.format {
                writeln!(f, "{}: {format}, {}", reading.name, counted(reading.lines, "line"))?;
            }
        }
        for own in &outcome.own {
            writeln!(f, "your {}: {}", own.name, counted(own.requests, "request"))?;
        }
        Ok(())
    }

    fn suggested(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = self.0;
        let Some(share) = outcome.refuse_at_most.as_ref().filter(|_| !outcome.suggestions.is_empty()) else {
            return Ok(());
        };
        writeln!(
            f,
            "\nThe smallest limits that refuse at most {share} of the callers and none of your services:"
        )?;
        let mut table = table(&[
            "limit",
            "callers\nrefused",
            "needed by\ncallers",
            "needed by\nyour services",
            "single\ncallers",
            "offenders\nrefused",
        ]);
        for suggestion in &outcome.suggestions {
            let own = suggestion
                .for_own
                .as_ref()
                .map_or("-".into(), |(name, need)| format!("{} ({name})", grouped(need)));
            table.add_row([
                Cell::new(suggestion.form.text(suggestion.limit)),
                number(grouped(suggestion.refused_callers)),
                number(grouped(suggestion.for_callers)),
                number(own),
                number(grouped(suggestion.for_single_callers)),
                number(format!(
                    "{} of {}",
                    grouped(suggestion.offenders_refused),
                    grouped(suggestion.offenders)
                )),
            ]);
        }
        writeln!(f, "{table}")?;
        let mut any = false;
        for suggestion in &outcome.suggestions {
            if let Some(why) = &suggestion.no_number {
                writeln!(f, "{}: {why}.", suggestion.form.text(suggestion.limit))?;
                any = true;
            }
        }
        if any {
            writeln!(f, "{ADVICE}")?;
        }
        Ok(())
    }
}

fn policies(outcome: &Outcome) -> Table {
    let mut table = table(&["policy", "refused", "of all", "refused\ncallers", "own\nrefused"]);
    for policy in &outcome.policies {
        let own = if policy.own_exempt { "exempt".into() } else { grouped(policy.own_refused) };
        table.add_row([
            Cell::new(&policy.name),
            number(grouped(policy.refused)),
            number(percent(policy.refused, outcome.requests)),
            number(grouped(policy.refused_callers)),
            number(own),
        ]);
    }
    table
}

fn ranked(policy: &Judged) -> Table {
    let peak = format!("most in\n{}", policy.window);
    let mut table = table(&["caller", "requests", "refused", &peak, "user\nagents", "verdict"]);
    for caller in policy.ranked.iter().take(SHOWN) {
        table.add_row([
            Cell::new(&caller.caller),
            number(grouped(caller.requests)),
            number(grouped(caller.refused)),
            number(grouped(caller.peak)),
            number(grouped(caller.distinct)),
            Cell::new(caller.verdict.to_string()),
        ]);
    }
    table
}

/// A table whose numbers have their titles above them.
fn table(titles: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    let title = |(index, title): (usize, &&str)| {
        let is_text = index == 0 || *title == "verdict";
        if is_text { Cell::new(title) } else { number((*title).into()) }
    };
    table.set_header(titles.iter().enumerate().map(title));
    table
}

fn number(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// How many refused callers are shown of each policy; reports have more.
const SHOWN: usize = 10;
