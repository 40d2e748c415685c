use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::policy::MOST_POLICIES;

/// What became of a decision's charges once its request was settled. It is written by the request's permit alone, of which
/// there is one, and read by all who have the decision.
// In the decision and not in the permit, since bytes beside a pointer make whoever moves both wait.
pub(crate) struct Refunds(AtomicU32);

/// Of which policies, by their place, the charge was given back.
#[derive(Clone, Copy)]
pub(crate) struct Refunded(u32);

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
        self.load().0 & SETTLED != 0
    }

    /// Settles the request, or tells what was given back after all.
    #[inline]
    pub(crate) fn settle(&self, refunded: impl IntoIterator<Item = bool>) {
        let places = refunded.into_iter().take(MOST_POLICIES).enumerate();
        let bits = places.fold(SETTLED, |bits, (place, refunded)| bits | u32::from(refunded) << place);
        // ORDERING: one number, which nothing else hangs on; here and below.
        self.0.store(bits, Ordering::Relaxed);
    }

    /// As it is now.
    #[inline]
    pub(crate) fn load(&self) -> Refunded {
        Refunded(self.0.load(Ordering::Relaxed))
    }
}

impl Refunded {
    /// Whether the policy at this place has given its charge back.
    #[inline]
    pub(crate) fn has(self, place: usize) -> bool {
        place < MOST_POLICIES && self.0 >> place & 1 == 1
    }
}

/// Decisions that are alike stay alike when one of them is settled.
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
            assert!(!refunds.are_settled() && !(0..MOST_POLICIES).any(|place| refunds.load().has(place)));
            refunds.settle(refunded.iter().copied());
            let told: Vec<bool> = (0..MOST_POLICIES).map(|place| refunds.load().has(place)).collect();
            assert_eq!((told, refunds.are_settled()), (refunded, true));
            assert!(
                ![MOST_POLICIES, 8, 31, 64, usize::MAX].into_iter().any(|place| refunds.load().has(place))
            );
        }
    }
}
