use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use askama::Template;
use tollgate_replay::{ADVICE, Judged, Outcome, Ranked, Suggestion, Verdict};

use crate::charts;
use crate::figures::{self, grouped, percent};

/// The report: one page that loads nothing, for light and dark, wide and narrow screens, and for readers of all kinds.
#[derive(Template)]
#[template(path = "report.html")]
struct Page<'o> {
    outcome: &'o Outcome,
    policies: Vec<Shown<'o>>,
    suggestions: Vec<Suggested<'o>>,
    /// Whether any suggestion is no number to use.
    no_number: bool,
}

/// One policy.
struct Shown<'o> {
    policy: &'o Judged,
    of_all: String,
    over_time: String,
    peaks: String,
    /// What each bar of the peaks is, and whether there is room to say it on a narrow screen.
    bars: Vec<(String, bool)>,
    most_in_a_span: String,
    /// The refused callers, each with the length of its bar.
    rows: Vec<(&'o Ranked, u64)>,
    /// The verdicts on them, each with how many have it.
    verdicts: Vec<(Verdict, usize)>,
}

/// One suggestion, in words.
struct Suggested<'o> {
    suggestion: &'o Suggestion,
    limit: String,
    own: String,
}

/// The report on what came of a replay.
pub(crate) fn page(outcome: &Outcome) -> askama::Result<String> {
    Page {
        outcome,
        policies: outcome.policies.iter().map(|policy| shown(outcome, policy)).collect(),
        suggestions: outcome.suggestions.iter().map(suggested).collect(),
        no_number: outcome.suggestions.iter().any(|suggestion| suggestion.no_number.is_some()),
    }
    .render()
}

/// Whether a report may be written here: where there is nothing yet, or an older report, but not over a log.
pub(crate) fn may_be_at(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    if path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        File::open(path)?.take(BEGIN.len() as u64).read_to_end(&mut begin)?;
    }
    Ok(begin.is_empty() || begin == BEGIN)
}

fn suggested(suggestion: &Suggestion) -> Suggested<'_> {
    let Suggestion { form, limit, for_own, .. } = suggestion;
    let own = for_own.as_ref().map(|(name, need)| format!("{} ({name})", grouped(need)));
    Suggested { suggestion, limit: form.text(*limit), own: own.unwrap_or_else(|| "nothing".into()) }
}

fn shown<'o>(outcome: &'o Outcome, policy: &'o Judged) -> Shown<'o> {
    let (requests, ranked) = (&outcome.timeline.requests, &policy.ranked);
    let most = ranked.first().map_or(0, |first| first.refused);
    let count = |verdict| ranked.iter().filter(|row| row.verdict == verdict).count();
    let width = charts::width(&policy.peaks, policy.limit);
    let every = width.div_ceil(NARROW).max(1);
    let bar = |index: usize| {
        let up_to = 1_u64 << index.min(32);
        (
            if up_to >= 1 << 13 { format!("{}Ki", up_to >> 10) } else { up_to.to_string() },
            index.is_multiple_of(every),
        )
    };
    Shown {
        policy,
        of_all: percent(policy.refused, outcome.requests),
        over_time: charts::over_time(requests, &policy.refused_over_time),
        peaks: charts::peaks(&policy.peaks, policy.limit),
        bars: (0..width).map(bar).collect(),
        rows: ranked.iter().map(|row| (row, share(row.refused, most))).collect(),
        verdicts: Verdict::ALL.into_iter().map(|verdict| (verdict, count(verdict))).collect(),
        most_in_a_span: grouped(requests.iter().copied().max().unwrap_or_default()),
    }
}

/// How long a bar is beside the longest, in per cent.
fn share(part: u32, most: u32) -> u64 {
    u64::from(part) * 100 / u64::from(most.max(1))
}

/// What reports begin with.
const BEGIN: &[u8] = b"<!DOCTYPE html>";
/// How many labels fit under a chart on a telephone.
const NARROW: usize = 8;
