use crate::key::Key;
use crate::origin::Origin;
use crate::time::Nanos;
use crate::verdict::{Reason, Verdict};

/// One request of a caller that was refused, or nearly so, and what is known of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a sighting is to be recorded by a Watch"]
pub struct Sighting {
    pub(super) key: Key,
    pub(super) now: Nanos,
    pub(super) refused: bool,
    pub(super) origin: Option<Origin>,
    pub(super) hint: Option<Key>,
    pub(super) forged: bool,
    pub(super) credential: Option<Key>,
    pub(super) internal: bool,
}

impl Sighting {
    /// A request that was refused.
    pub const fn refused(key: Key, now: Nanos) -> Self {
        Self {
            key,
            now,
            refused: true,
            origin: None,
            hint: None,
            forged: false,
            credential: None,
            internal: false,
        }
    }

    /// A request that passed, of a caller that has used at least 80 % of its limit.
    pub const fn near(key: Key, now: Nanos) -> Self {
        Self { refused: false, ..Self::refused(key, now) }
    }

    /// What a verdict is worth recording as, if at all: a refusal on the caller's own count, or an admission of a caller
    /// that has used at least 80 % of its limit. A newcomer for whom a table had no room says more of the table than of itself.
    pub const fn of(verdict: &Verdict, key: Key, now: Nanos) -> Option<Self> {
        match verdict {
            Verdict::Refused(refusal) => match refusal.reason {
                Reason::OverLimit | Reason::CostAboveLimit | Reason::Penalty | Reason::Share => {
                    Some(Self::refused(key, now))
                }
                Reason::Overflow | Reason::Contended | Reason::Unreachable => None,
            },
            Verdict::Admitted(standing) if standing.is_near_limit() => Some(Self::near(key, now)),
            Verdict::Admitted(_) | Verdict::Exempt(_) => None,
        }
    }

    /// The caller's address, which the list then shows. Of several addresses that share a key it shows the first.
    pub const fn origin(self, origin: Origin) -> Self {
        Self { origin: Some(origin), ..self }
    }

    /// A keyed hash of whatever may tell those behind one address apart: the user agent, the address that an untrusted
    /// proxy named, a session or an API key. Only one of 64 bits of it is kept.
    ///
    /// # Security
    /// All of these are the caller's to write: one script can look like a crowd.
    pub const fn hint(self, hint: Key) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// It presented a credential that is no secret of ours; a keyed hash of that, of which 24 values are told apart. Say
    /// it only of a field that nobody but own services has a use for: users' own tokens are not forged.
    pub const fn forged(self, credential: Key) -> Self {
        Self { forged: true, credential: Some(credential), ..self }
    }

    /// The same, where the credential is not looked at: it counts in the share of false ones and not in the distinct ones.
    pub const fn forged_alike(self) -> Self {
        Self { forged: true, ..self }
    }

    /// It asked for a route that is there for own services alone.
    pub const fn internal(self) -> Self {
        Self { internal: true, ..self }
    }
}

/// What a [`Watch`](super::Watch) found in a sighting. The first three are told once in a spell, unless the caller lost its place
/// meanwhile, so they are fit for a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use = "the first refusal and the recovery are told only here"]
#[non_exhaustive]
pub enum Noticed {
    /// The caller is listed because it is near its limit.
    Near,
    /// The caller's first refusal in this spell.
    Refused,
    /// The caller's last spell of refusals is over: it is near its limit and was not refused for the quiet span.
    Recovered,
    /// The caller is listed as it was.
    Again,
    /// The caller took the place of a lighter one that is being throttled too. In a list that is too small callers take turns,
    /// so this may be told of one caller again and again.
    Displacing,
    /// There is no place for the caller: each is taken by one that was refused more often, or of late.
    Overlooked,
}
