use crate::sync::{Tally, TallyOrdering};

/// What a [`Watch`](super::Watch) could not keep, since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Lost {
    /// Refusals of callers for whom there was no place.
    pub refusals: u64,
    /// Admissions near the limit of callers for whom there was no place.
    pub near: u64,
    /// Refused callers that gave way to others while their spell lasted.
    pub callers: u64,
    /// Recovered callers that gave way to others before anybody asked.
    pub recoveries: u64,
    /// Sightings that were counted, but without what was known of them, since another thread was writing there.
    pub details: u64,
}

/// The counts behind it; those of refusals are in the sets.
pub(super) struct Losses([Tally; KINDS]);

#[derive(Clone, Copy)]
pub(super) enum Loss {
    Near,
    Caller,
    Recovery,
    Detail,
}

const KINDS: usize = 4;

impl Losses {
    pub(super) const fn new() -> Self {
        Self([const { Tally::new(0) }; KINDS])
    }

    pub(super) fn add(&self, loss: Loss) {
        // ORDERING: a count is read by itself and orders nothing.
        self.0[loss as usize].fetch_add(1, TallyOrdering::Relaxed);
    }

    pub(super) fn read(&self, refusals: u64) -> Lost {
        // ORDERING: as above.
        let count = |loss: Loss| self.0[loss as usize].load(TallyOrdering::Relaxed);
        Lost {
            refusals,
            near: count(Loss::Near),
            callers: count(Loss::Caller),
            recoveries: count(Loss::Recovery),
            details: count(Loss::Detail),
        }
    }
}
