use crate::policy::MOST_POLICIES;

/// Of which policies, by their place, the charge was given back: a bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Refunds(u8);

const _: () = assert!(MOST_POLICIES <= u8::BITS as usize, "a policy has no bit");

impl Refunds {
    /// Whether the policy at this place has given its charge back.
    #[inline]
    pub(crate) fn has(self, place: usize) -> bool {
        place < MOST_POLICIES && self.0 >> place & 1 == 1
    }
}

/// In the order of the policies.
impl FromIterator<bool> for Refunds {
    fn from_iter<I: IntoIterator<Item = bool>>(refunds: I) -> Self {
        let bits = refunds.into_iter().take(MOST_POLICIES).enumerate();
        Self(bits.fold(0, |bits, (place, refunded)| bits | u8::from(refunded) << place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_has_its_own() {
        for all in 0..1 << MOST_POLICIES {
            let refunded: Vec<bool> = (0..MOST_POLICIES).map(|place| all >> place & 1 == 1).collect();
            let refunds: Refunds = refunded.iter().copied().collect();
            let told: Vec<bool> = (0..MOST_POLICIES).map(|place| refunds.has(place)).collect();
            assert_eq!(told, refunded);
            assert!(![MOST_POLICIES, 8, 64, usize::MAX].into_iter().any(|place| refunds.has(place)));
        }
    }
}
