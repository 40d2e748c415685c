use super::details::Details;
use super::distinct;
use super::finding::Finding;
use crate::key::Key;
use crate::origin::Origin;
use crate::time::Nanos;

/// One listed caller, as it was at one moment. Everything is of its present spell, or of its last one if it has recovered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Seen {
    /// Who it is.
    pub key: Key,
    /// Its address, if one was recorded.
    pub origin: Option<Origin>,
    /// How often it was refused since it is listed; 0 if it is near its limit and was not refused. Counting stops at a
    /// thousand million.
    pub refused: u32,
    /// How often it can have been refused besides, before it was listed and when no place was left for it.
    pub missed: u32,
    /// When it was listed, rounded down by up to 1.1 s.
    pub first: Nanos,
    /// When it was last refused, or last seen if it never was; rounded down by up to 17 ms.
    pub last: Nanos,
    /// The requests that the next two are shares of: refusals and admissions near the limit. When they would exceed
    /// 262,143, all three are halved.
    pub sightings: u32,
    /// Those with a credential that is no secret of ours.
    pub forged: u32,
    /// Those for a route that is there for own services alone.
    pub internal: u32,
    /// About how many distinct callers stand behind it, by their hints; 0 if none had any. 267 stands for so many or more.
    pub callers: u16,
    /// At least so many distinct false credentials came from it.
    pub credentials: u8,
}

impl Seen {
    pub(super) fn of(details: &Details) -> Self {
        let shares = details.shares();
        let (high, low) = details.address();
        Self {
            key: details.key(),
            origin: shares.origin(high, low),
            refused: details.head.weight().saturating_sub(details.base()),
            missed: details.base(),
            first: details.first(),
            last: details.last(),
            sightings: shares.sightings(),
            forged: shares.forged(),
            internal: shares.internal(),
            callers: distinct::estimate(details.hints()),
            credentials: details.credentials().count_ones().to_le_bytes()[0],
        }
    }

    /// What this caller looks like.
    ///
    /// # Security
    /// It rests on what the caller sends, so it is advice for people: exempt nobody for it.
    pub const fn finding(&self) -> Finding {
        Finding::of(self)
    }
}
