//! Who is being refused, and are they ours?

mod addresses;
#[cfg(feature = "report")]
mod answer;
mod journal;
#[cfg(feature = "report")]
mod json;
mod report;

pub use addresses::Addresses;
pub use report::{Held, Report, Throttled};
#[cfg(any(feature = "metrics", feature = "report"))]
use tollgate::Finding;
use tollgate::{Key, Nanos, Noticed, Presented, Sighting, Standing, Watch};

use crate::credential::Scheme;
use crate::decision::{Decision, Outcome};
use crate::gate::Gate;
use crate::request::RequestFields;
use journal::Journal;

/// The list of a gate's throttled callers, and what it is told.
pub(crate) struct Watching {
    list: Box<Watch<SETS>>,
    journal: Journal,
    settings: Settings,
}

/// What a builder may set.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) addresses: Addresses,
    /// Paths that begin so are there for own services alone.
    pub(crate) internal_routes: Vec<String>,
    /// Fields that may tell callers behind one address apart, in lower case.
    pub(crate) hint_fields: Vec<String>,
}

/// A finding in one or two words, for labels and programs.
#[cfg(any(feature = "metrics", feature = "report"))]
pub(crate) const fn kind(finding: Finding) -> &'static str {
    match finding {
        Finding::SharedAddress => "shared address",
        Finding::OwnService(_) => "own service",
        Finding::Forging => "forging",
        _ => "one caller",
    }
}

/// Sets of seven callers: 448 of them, in 32 KiB.
const SETS: usize = 64;
/// Of each hint so many bytes are looked at, from either end, so that a refusal costs the same whatever is sent.
const HINT_END: usize = 32;

impl Default for Settings {
    fn default() -> Self {
        let hints = ["user-agent", "x-forwarded-for", "forwarded", "cookie", "authorization", "x-api-key"];
        Self {
            addresses: Addresses::default(),
            internal_routes: Vec::new(),
            hint_fields: hints.map(str::to_owned).into(),
        }
    }
}

impl Watching {
    /// A caller has recovered that was not refused for two of these windows.
    pub(crate) fn new(settings: Settings, longest_window: Nanos) -> Self {
        let quiet = Nanos(longest_window.0.saturating_mul(2));
        Self { list: Box::new(Watch::new(quiet)), journal: Journal::new(), settings }
    }

    /// Records a request that was refused, or nearly so; of all others nothing is touched.
    #[inline]
    pub(crate) fn look(
        &self,
        gate: &Gate,
        decision: &Decision,
        caller: Key,
        presented: Presented,
        fields: &(impl RequestFields + ?Sized),
    ) {
        let sighting = match &decision.outcome {
            Outcome::Admitted(standings) if standings.iter().any(Standing::is_near_limit) => {
                // What others have used up says nothing of this one.
                let mut own = gate
                    .chosen(decision.class)
                    .zip(standings.iter())
                    .filter(|(tier, _)| tier.is_of_callers());
                if !own.any(|(_, standing)| standing.is_near_limit()) {
                    return;
                }
                Sighting::near(caller, decision.now)
            }
            Outcome::Refused { .. } => Sighting::refused(caller, decision.now),
            Outcome::Admitted(_) | Outcome::Exempt(_) | Outcome::Uncounted => return,
        };
        self.record(gate, sighting, decision, caller, presented, fields);
    }

    #[cold]
    fn record(
        &self,
        gate: &Gate,
        mut sighting: Sighting,
        decision: &Decision,
        caller: Key,
        presented: Presented,
        fields: &(impl RequestFields + ?Sized),
    ) {
        if let Some(origin) = decision.origin {
            sighting = sighting.origin(origin);
        }
        if let Some(hint) = self.hint(gate, fields) {
            sighting = sighting.hint(hint);
        }
        // Users have bearer tokens of their own, which are no forgeries.
        if presented == Presented::Forged
            && gate.field.scheme == Scheme::Whole
            && let Some(credential) = gate.field.presented(fields.named(&gate.field.name))
        {
            sighting = sighting.forged(gate.keyer.bytes(credential));
        }
        if fields.path().is_some_and(|path| self.is_internal(path)) {
            sighting = sighting.internal();
        }
        let shown = || self.settings.addresses.show(&gate.keyer, decision.origin, caller);
        match self.list.record(&sighting) {
            Noticed::Refused => self.journal.refused(decision.mode, shown()),
            Noticed::Recovered => self.journal.recovered(shown()),
            _ => {}
        }
        self.journal.tend(&self.list, decision.now, |seen| {
            self.settings.addresses.show(&gate.keyer, seen.origin, seen.key)
        });
    }

    /// One number of what may tell apart those who share an address.
    fn hint(&self, gate: &Gate, fields: &(impl RequestFields + ?Sized)) -> Option<Key> {
        let names = self.settings.hint_fields.iter().filter(|name| name.as_str() != gate.field.name.as_str());
        let values = names.flat_map(|name| fields.lines(name).map(move |value| (name.as_bytes(), value)));
        values.fold(None, |hint: Option<Key>, (name, value)| {
            let before = hint.map_or(0, Key::fingerprint).to_le_bytes();
            let (start, end) = value.split_at(value.len().min(HINT_END));
            let end = end.get(end.len().saturating_sub(HINT_END)..).unwrap_or_default();
            Some(gate.keyer.parts(&[&before, name, start, end]))
        })
    }

    fn is_internal(&self, path: &str) -> bool {
        self.settings.internal_routes.iter().any(|route| path.starts_with(route.as_str()))
    }
}
