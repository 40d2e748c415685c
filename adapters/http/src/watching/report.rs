use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tollgate::{Finding, Lost, Seen};

use crate::gate::Gate;
use crate::mode::Mode;
use crate::tier::IN_FLIGHT;
use crate::watching::Watching;
use crate::watching::addresses::id;

/// Who is being throttled, at one moment.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// When, in seconds since 1970.
    pub at: f64,
    /// What is done with verdicts. In [`Mode::Shadow`] nobody was refused: these are the callers that the limit would hit.
    pub mode: Mode,
    /// What callers are held to: the gate's policies, then its classes, then requests under way.
    pub policies: Vec<Held>,
    /// The throttled callers, the most refused first, and then those near their limits.
    pub callers: Vec<Throttled>,
    /// The most that can be listed at a time.
    pub capacity: usize,
    /// What could not be kept, since the gate was built.
    pub lost: Lost,
}

/// A limit that callers are held to.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Held {
    /// The policy's name, or the class's, or `in-flight`.
    pub name: String,
    /// The most requests.
    pub limit: u32,
    /// In so many seconds; `None` if it is at once.
    pub window: Option<f64>,
}

/// One caller that is being refused, or nearly so, in its present spell.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Throttled {
    /// A keyed hash: the same in each report of the gate.
    pub id: String,
    /// Its address, as [`GateBuilder::addresses`](crate::GateBuilder::addresses) says.
    pub address: String,
    /// What it looks like.
    pub finding: Finding,
    /// How often it was refused; 0 if it is near its limit.
    pub refused: u32,
    /// How often it may have been refused besides, when there was no place for it.
    pub missed: u32,
    /// Since when, in seconds since 1970.
    pub first: f64,
    /// When it was last refused, or last seen if it never was, in seconds since 1970.
    pub last: f64,
    /// Requests that the next two are shares of: refusals and admissions near the limit.
    pub sightings: u32,
    /// Those with a credential that is no secret of ours.
    pub forged: u32,
    /// Those for internal routes.
    pub internal: u32,
    /// About how many distinct callers stand behind it; 0 if nothing tells.
    pub callers: u16,
    /// At least so many distinct false credentials came from it.
    pub credentials: u8,
}

impl Gate {
    /// Who is being throttled now; nobody if the gate was built [without a watch](crate::GateBuilder::without_watch).
    ///
    /// Whoever has recovered since the last report is told to the log.
    pub fn throttled(&self) -> Report {
        let now = self.ticker.now();
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ago =
            |then: tollgate::Nanos| at.saturating_sub(Duration::from(now.saturating_sub(then))).as_secs_f64();
        let mut report = Report {
            at: at.as_secs_f64(),
            mode: self.mode(),
            policies: self.held().collect(),
            callers: Vec::new(),
            capacity: 0,
            lost: Lost::default(),
        };
        let Some(Watching { list, journal, settings }) = &self.watching else { return report };
        let show = |seen: &Seen| settings.addresses.show(&self.keyer, seen.origin, seen.key);
        journal.tend(list, report.mode, now, show);
        report.callers.extend(list.snapshot(now).map(|seen| Throttled {
            id: id(&self.keyer, seen.key).to_string(),
            address: show(&seen).to_string(),
            finding: seen.finding(),
            refused: seen.refused,
            missed: seen.missed,
            first: ago(seen.first),
            last: ago(seen.last),
            sightings: seen.sightings,
            forged: seen.forged,
            internal: seen.internal,
            callers: seen.callers,
            credentials: seen.credentials,
        }));
        report.callers.sort_by(|one, other| {
            (other.refused, other.last)
                .partial_cmp(&(one.refused, one.last))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        report.capacity = list.capacity();
        report.lost = list.lost();
        report
    }

    fn held(&self) -> impl Iterator<Item = Held> {
        let quotas = self.texts.load().quotas.clone();
        let policies = self.tiers.all().zip(quotas).map(|(tier, quota)| Held {
            name: tier.name.clone(),
            limit: quota.limit(),
            window: Some(Duration::from(quota.window()).as_secs_f64()),
        });
        let under_way = self.most_in_flight.map(|limit| Held { name: IN_FLIGHT.into(), limit, window: None });
        policies.chain(under_way)
    }
}
