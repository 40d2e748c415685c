use jiff::Timestamp;
use serde::Serialize;
use tollgate::Nanos;

use crate::judged::Judged;
use crate::reading::Reading;
use crate::replay::Replay;
use crate::suggest::{Share, Suggestion, suggest};

/// What came of a replay; as JSON it is what `--json` writes.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Requests that were decided.
    pub requests: u64,
    /// Lines that are no requests.
    pub unparsed: u64,
    /// Requests that came more than a minute too late, and were not decided.
    pub late: u64,
    /// Requests with a time that no other line keeps to, which were not decided.
    pub astray: u64,
    /// Callers, by the prefixes that were asked for.
    pub callers: u64,
    /// Whether there were so many callers that their numbers are estimates, and rankings lack some.
    pub callers_are_estimated: bool,
    /// When the first request was made.
    pub begin: Option<String>,
    /// When the last was.
    pub end: Option<String>,
    /// The services of one's own.
    pub own: Vec<OwnRequests>,
    /// What each policy would have done.
    pub policies: Vec<Judged>,
    /// Requests over time.
    pub timeline: Spans,
    /// The limits that were asked for.
    pub suggestions: Vec<Suggestion>,
    /// The share of callers that they may refuse.
    pub refuse_at_most: Option<String>,
    /// What was read.
    pub inputs: Vec<Reading>,
    /// What else is to be told to people, a sentence each.
    pub notes: Vec<String>,
}

/// A service of one's own.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OwnRequests {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: u64,
}

/// Spans of time of one length.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Spans {
    /// When the first begins, in seconds since 1970.
    pub begin: u64,
    /// How long each is, in seconds.
    pub seconds: u64,
    /// The requests of each.
    pub requests: Vec<u64>,
}

impl Outcome {
    /// What came of a replay of what was read; limits are suggested that refuse no more than a share of callers.
    pub fn new(replay: &Replay, inputs: Vec<Reading>, share: Option<Share>) -> Self {
        let callers = &replay.sizes[0];
        let sum = |of: fn(&Reading) -> u64| inputs.iter().map(of).sum::<u64>();
        let judged =
            replay.tried.iter().enumerate().map(|(index, tried)| Judged::new(replay, index, tried)).collect();
        let spans = &replay.timeline;
        let any = (replay.requests > 0).then_some(Nanos::from_secs(spans.begin()));
        let mut outcome = Self {
            requests: replay.requests,
            unparsed: sum(|reading| reading.unparsed),
            late: replay.late,
            astray: sum(|reading| reading.astray),
            callers: callers.count(),
            callers_are_estimated: callers.is_estimate(),
            begin: any.and_then(when),
            end: any.and_then(|_| when(replay.last)),
            own: replay
                .services
                .iter()
                .map(|service| OwnRequests { name: service.name.clone(), requests: service.requests })
                .collect(),
            policies: judged,
            timeline: Spans { begin: spans.begin(), seconds: spans.width(), requests: spans.requests() },
            suggestions: share.map(|share| suggest(callers, &replay.services, share)).unwrap_or_default(),
            refuse_at_most: share.map(|share| share.to_string()),
            inputs,
            notes: Vec::new(),
        };
        outcome.notes = outcome.inputs.iter().flat_map(Reading::notes).collect();
        outcome.notes.extend(outcome.own_notes(replay));
        outcome
    }

    /// Whether any request of one's own services was refused, by any policy.
    pub fn own_is_refused(&self) -> bool {
        self.policies.iter().any(|policy| policy.own_refused > 0)
    }

    /// Whether something could not be read.
    pub fn has_trouble(&self) -> bool {
        self.requests == 0 || self.inputs.iter().any(|reading| reading.trouble.is_some())
    }

    fn own_notes(&self, replay: &Replay) -> Vec<String> {
        let mut notes = Vec::new();
        if self.late > 0 {
            notes.push(format!(
                "{} requests are left out, since they were made more than a minute before requests that the log has before \
                 them: a clock was set back, or the log is not in the order of time",
                self.late
            ));
        }
        if replay.is_cut {
            notes.push(
                "more than two million requests in a minute: of these only the nearer ones were sorted"
                    .into(),
            );
        }
        if self.callers_are_estimated {
            notes.push(format!(
                "more callers than are kept (--most-callers): numbers of callers are estimates, and {} are not ranked",
                self.callers.saturating_sub(replay.sizes[0].list().len() as u64)
            ));
        }
        for own in self.own.iter().filter(|own| own.requests == 0) {
            notes.push(format!("no request is of your service {}: is its mark what the log has?", own.name));
        }
        for policy in self.policies.iter().filter(|policy| policy.overflowed > 0) {
            notes.push(format!(
                "{}: {} callers found no room in the table; choose a larger --capacity, here as in production",
                policy.name, policy.overflowed
            ));
        }
        notes
    }
}

/// A time for people and machines: RFC 3339, in UTC, to the second.
fn when(time: Nanos) -> Option<String> {
    let second = i64::try_from(time.0 / 1_000_000_000).ok()?;
    Timestamp::from_second(second).ok().map(|time| time.to_string())
}
