use serde::Serialize;
use tollgate::Nanos;

use crate::callers::Callers;
use crate::peaks::Peaks;
use crate::policy::span;
use crate::replay::Replay;
use crate::tried::Tried;
use crate::verdict::{Evidence, Verdict};

/// What a policy would have done.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The policy's name.
    pub name: String,
    /// The most that passes in a window.
    pub limit: u32,
    /// The window, for people.
    pub window: String,
    /// Requests that it refused.
    pub refused: u64,
    /// Callers whom it refused at least one request.
    pub refused_callers: u64,
    /// Requests of one's own services that it refused.
    pub own_refused: u64,
    /// The same by service.
    pub own_refused_by_service: Vec<u64>,
    /// Whether the requests of one's own services were not counted.
    pub own_exempt: bool,
    /// Newcomers that found no room in the table, which was too small.
    pub overflowed: u64,
    /// Those whom it refused most.
    pub ranked: Vec<Ranked>,
    /// Refusals over time, in the spans of the whole.
    pub refused_over_time: Vec<u64>,
    /// The most that callers did in one of its windows.
    pub peaks: Peaks,
}

/// A refused caller.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Ranked {
    /// Its network.
    pub caller: String,
    /// Its requests.
    pub requests: u32,
    /// Those that were refused.
    pub refused: u32,
    /// The most that it did in one window.
    pub peak: u32,
    /// How many are behind it, by their user agents, about.
    pub distinct: u32,
    /// Who it seems to be.
    pub verdict: Verdict,
}

impl Judged {
    /// What came of the policy with this index.
    pub(crate) fn new(replay: &Replay, index: usize, tried: &Tried) -> Self {
        let callers = replay.sizes.iter().find(|callers| callers.prefixes() == tried.policy.prefixes);
        let callers = callers.unwrap_or(&replay.sizes[0]);
        let window = replay.windows.iter().position(|window| *window == tried.policy.quota.window());
        let window = window.unwrap_or_default();
        Self {
            name: tried.policy.name.clone(),
            limit: tried.policy.quota.limit(),
            window: length(tried.policy.quota.window()),
            refused: tried.refused,
            refused_callers: tried.refused_callers + u64::from(tried.beyond.estimate()),
            own_refused: tried.own.iter().sum(),
            own_refused_by_service: tried.own.clone(),
            own_exempt: tried.policy.exempt_own,
            overflowed: tried.overflowed(),
            ranked: ranked(callers, index, window),
            refused_over_time: replay.timeline.refused(index),
            peaks: Peaks::new(
                (0..callers.list().len())
                    .map(|at| (callers.peak(at, window), callers.refused(at, index) > 0)),
            ),
        }
    }
}

/// Those whom a policy refused most; of equals those that came first.
fn ranked(callers: &Callers, policy: usize, window: usize) -> Vec<Ranked> {
    let refused = |at: &usize| callers.refused(*at, policy);
    let mut places: Vec<usize> = (0..callers.list().len()).filter(|at| refused(at) > 0).collect();
    let order = |at: &usize| (std::cmp::Reverse(refused(at)), *at);
    if places.len() > MOST_RANKED {
        places.select_nth_unstable_by_key(MOST_RANKED, order);
        places.truncate(MOST_RANKED);
    }
    places.sort_unstable_by_key(order);
    let row = |at: usize| {
        let caller = callers.list().get(at)?;
        let evidence: Evidence = caller.evidence();
        Some(Ranked {
            caller: caller.origin.to_string(),
            requests: caller.requests,
            refused: refused(&at),
            peak: callers.peak(at, window),
            distinct: evidence.distinct,
            verdict: evidence.verdict(),
        })
    };
    places.into_iter().filter_map(row).collect()
}

/// A length of time with its number: `1 min`.
fn length(window: Nanos) -> String {
    let text = span(window);
    if text.starts_with(|first: char| first.is_ascii_digit()) { text } else { format!("1 {text}") }
}

/// How many refused callers are told by name.
const MOST_RANKED: usize = 20;
