//! Who is being refused, and are they ours?

mod addresses;
#[cfg(feature = "report")]
mod answer;
mod journal;
#[cfg(feature = "report")]
mod json;
mod report;

use std::net::IpAddr;

pub use addresses::Addresses;
pub use report::{Held, Report, Throttled};
#[cfg(any(feature = "metrics", feature = "report"))]
use tollgate::Finding;
use tollgate::{Key, Nanos, Noticed, Origin, Presented, Sighting, Standing, Watch};

use crate::credential::Scheme;
use crate::decision::{Outcome, Parts};
use crate::gate::Gate;
use crate::name::FieldName;
use crate::request::{RequestFields, may_have};
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
    /// Fields that may tell callers behind one address apart.
    pub(crate) hint_fields: Vec<FieldName>,
}

/// Who asked.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) key: Key,
    /// Where the connection comes from.
    pub(crate) peer: Option<IpAddr>,
    /// Whether it is counted by something else than its address.
    pub(crate) is_named: bool,
}

impl Caller {
    /// The address that it is shown by. A named one has many, and others have them too.
    fn origin(self, decision: &Parts) -> Option<Origin> {
        decision.origin.filter(|_| !self.is_named)
    }

    /// Whether trusted proxies said where it is.
    fn is_told_by_proxies(self, decision: &Parts) -> bool {
        decision.origin.map(|origin| origin.address()) != self.peer.map(|peer| peer.to_canonical())
    }
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
/// Hints and credentials are looked at in so many first refusals of a caller, which tell what it looks like, and then in one
/// of so many, which tell whether that has changed: they cost several times what counting costs.
const LOOKED_AT_FIRST: u32 = 64;
const LOOKED_AT_EACH: u32 = 16;
/// Of each hint so many bytes are looked at, from either end, so that a refusal costs the same whatever is sent.
const HINT_END: usize = 32;
/// Of all hints so many bytes: six whole ones.
const MOST_OF_HINTS: usize = 6 * 2 * HINT_END;
/// And of a false credential so many, which is all that a secret can have.
const CREDENTIAL_END: usize = 64;

impl Default for Settings {
    fn default() -> Self {
        let hints = ["user-agent", "x-forwarded-for", "forwarded", "cookie", "authorization", "x-api-key"];
        Self {
            addresses: Addresses::default(),
            internal_routes: Vec::new(),
            hint_fields: hints.map(FieldName::new).into(),
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
        decision: &Parts,
        caller: impl FnOnce() -> Caller,
        presented: Presented,
        fields: &(impl RequestFields + ?Sized),
    ) {
        let sighting: fn(Key, Nanos) -> Sighting = match &decision.outcome {
            Outcome::Admitted(standings) if standings.iter().any(Standing::is_near_limit) => {
                // What others have used up says nothing of this one.
                let mut own = gate
                    .tiers
                    .chosen(decision.class)
                    .zip(standings.iter())
                    .filter(|(tier, _)| tier.is_of_callers());
                if !own.any(|(_, standing)| standing.is_near_limit()) {
                    return;
                }
                Sighting::near
            }
            Outcome::Refused { .. } => Sighting::refused,
            Outcome::Admitted(_) | Outcome::Exempt(_) | Outcome::Uncounted => return,
        };
        let caller = caller();
        self.record(gate, sighting(caller.key, decision.now), decision, caller, presented, fields);
    }

    #[cold]
    fn record(
        &self,
        gate: &Gate,
        mut sighting: Sighting,
        decision: &Parts,
        caller: Caller,
        presented: Presented,
        fields: &(impl RequestFields + ?Sized),
    ) {
        let origin = caller.origin(decision);
        if let Some(origin) = origin {
            sighting = sighting.origin(origin);
        }
        let refusals = self.list.refusals(caller.key).unwrap_or(0);
        let is_looked_at = refusals < LOOKED_AT_FIRST || refusals.is_multiple_of(LOOKED_AT_EACH);
        if is_looked_at && let Some(hint) = self.hint(gate, decision, caller, fields) {
            sighting = sighting.hint(hint);
        }
        // Users have bearer tokens of their own, which are no forgeries.
        if presented == Presented::Forged && gate.field.scheme == Scheme::Whole {
            let credential = || gate.field.presented(fields.named(&gate.field.name));
            sighting = match is_looked_at.then(credential).flatten() {
                Some(credential) => sighting.forged(gate.keyer.parts(&ends(credential, CREDENTIAL_END))),
                None => sighting.forged_alike(),
            };
        }
        if fields.path().is_some_and(|path| self.is_internal(path)) {
            sighting = sighting.internal();
        }
        let shown = || self.settings.addresses.show(&gate.keyer, origin, caller.key);
        match self.list.record(&sighting) {
            Noticed::Refused => self.journal.refused(decision.mode, shown()),
            Noticed::Recovered => self.journal.recovered(decision.mode, shown()),
            _ => {}
        }
        self.journal.tend(&self.list, decision.mode, decision.now, |seen| {
            self.settings.addresses.show(&gate.keyer, seen.origin, seen.key)
        });
    }

    /// One number of what may tell apart those who share an address.
    fn hint(
        &self,
        gate: &Gate,
        decision: &Parts,
        caller: Caller,
        fields: &(impl RequestFields + ?Sized),
    ) -> Option<Key> {
        // A false credential is looked at by itself; users' bearer tokens tell them apart.
        let credential = Some(&gate.field.name).filter(|_| gate.field.scheme == Scheme::Whole);
        // What trusted proxies wrote differs by the way that a request took.
        let source = gate.source_field.as_ref().filter(|_| caller.is_told_by_proxies(decision));
        let left_out = |name: &FieldName| {
            [credential, source].iter().flatten().any(|other| other.as_str() == name.as_str())
        };
        let names = self.settings.hint_fields.iter().filter(|name| may_have(fields, name) && !left_out(name));
        let values = names.flat_map(|name| fields.named(name));
        // Hashed at once, since each hash, and each part of one, has a cost of its own.
        let mut hint = heapless::Vec::<u8, MOST_OF_HINTS>::new();
        for part in values.flat_map(|value| ends(value, HINT_END)) {
            if hint.extend_from_slice(part).is_err() {
                break;
            }
        }
        (!hint.is_empty()).then(|| gate.keyer.bytes(&hint))
    }

    /// Forgets who was throttled: what another mode is to say would be mixed with it.
    pub(crate) fn begin_anew(&self) {
        self.list.clear();
    }

    fn is_internal(&self, path: &str) -> bool {
        self.settings.internal_routes.iter().any(|route| path.starts_with(route.as_str()))
    }
}

/// A value's first bytes and, of what follows, its last.
fn ends(value: &[u8], most: usize) -> [&[u8]; 2] {
    let (start, rest) = value.split_at(value.len().min(most));
    [start, rest.get(rest.len().saturating_sub(most)..).unwrap_or_default()]
}
