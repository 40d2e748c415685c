use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::policy::MOST_POLICIES;

/// What became of a decision's charges once its request was settled: of which policies, by their place, they were given back.
// In the decision and not beside it, since bytes beside a pointer make whoever moves both wait.
pub(crate) struct Refunds(AtomicU32);

/// Of a request that is settled.
const SETTLED: u32 = 1 << 31;

const _: () = assert!(MOST_POLICIES < 31, "a policy has no bit");

impl Refunds {
    pub(crate) const fn none() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Whether the request is settled.
    #[inline]
    pub(crate) fn are_settled(&self) -> bool {
        // ORDERING: a decision's clones may be elsewhere, and see the one or the other; here and below.
        self.0.load(Ordering::Relaxed) & SETTLED != 0
    }

    /// Settles the request.
    #[inline]
    pub(crate) fn settle(&self, refunded: impl IntoIterator<Item = bool>) {
        let places = refunded.into_iter().take(MOST_POLICIES).enumerate();
        let bits = places.fold(SETTLED, |bits, (place, refunded)| bits | u32::from(refunded) << place);
        self.0.store(bits, Ordering::Relaxed);
    }

    /// Whether the policy at this place has given its charge back.
    #[inline]
    pub(crate) fn has(&self, place: usize) -> bool {
        place < MOST_POLICIES && self.0.load(Ordering::Relaxed) >> place & 1 == 1
    }
}

/// A decision is the same before and after.
impl PartialEq for Refunds {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Refunds {}

impl fmt::Debug for Refunds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refunds({:#b})", self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_has_its_own() {
        for all in 0..1 << MOST_POLICIES {
            let refunded: Vec<bool> = (0..MOST_POLICIES).map(|place| all >> place & 1 == 1).collect();
            let refunds = Refunds::none();
            assert!(!refunds.are_settled() && !(0..MOST_POLICIES).any(|place| refunds.has(place)));
            refunds.settle(refunded.iter().copied());
            let told: Vec<bool> = (0..MOST_POLICIES).map(|place| refunds.has(place)).collect();
            assert_eq!((told, refunds.are_settled()), (refunded, true));
            assert!(![MOST_POLICIES, 8, 31, 64, usize::MAX].into_iter().any(|place| refunds.has(place)));
        }
    }
}
