//! Suggested limits against trying every limit.

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate_replay::{Form, Outcome, Policy, Share};

use crate::support::{entry, replayed};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 40, ..ProptestConfig::default() })]

    /// The first of all limits, from 1 on, that the library enforces with no more refused callers than asked for and no
    /// refusal of one's own services.
    #[test]
    fn the_smallest_limit_is_the_first_that_does(
        steps in vec((0..12_u8, prop_oneof![0..400_000_000_u64, 0..20_000_000_000_u64], any::<bool>()), 1..150),
        own in 0..8_u8,
        shares in any::<bool>(),
        share in prop_oneof![Just("0%"), Just("10%"), Just("25%"), Just("60%"), Just("100%")],
    ) {
        let share: Share = share.parse().unwrap();
        let mut now = 1_431_857_103_000_000_000;
        let entries: Vec<_> = steps
            .iter()
            .map(|(caller, step, is_own)| {
                now += step;
                // A service has its address to itself, or shares it with strangers.
                entry(*caller / 2, now, (*caller / 2 == own && (!shares || *is_own)).then_some(0))
            })
            .collect();
        let services = ["own".to_owned()];
        let outcome = Outcome::new(&replayed(&entries, Vec::new(), &services), Vec::new(), Some(share));
        prop_assert_eq!(outcome.suggestions.len(), Form::ALL.len());
        for suggestion in &outcome.suggestions {
            let tried = |limit: u32| {
                let policy = Policy::new("tried", suggestion.form.quota(limit));
                let outcome = Outcome::new(&replayed(&entries, vec![policy], &services), Vec::new(), None);
                let policy = &outcome.policies[0];
                (policy.refused_callers, policy.own_refused)
            };
            let allowed = share.of(outcome.callers);
            let does = |limit: u32| {
                let (callers, own) = tried(limit);
                callers <= allowed && own == 0
            };
            let first = (1..=151).find(|limit| does(*limit));
            if suggestion.form == Form::SlidingMinute && shares {
                // What strangers are refused is out of the service's sight later, so that a smaller limit may do.
                prop_assert!(does(suggestion.limit) && first <= Some(suggestion.limit));
            } else {
                prop_assert_eq!(Some(suggestion.limit), first, "{:?}", suggestion.form);
            }
            prop_assert_eq!(suggestion.refused_callers, tried(suggestion.limit).0);
        }
    }
}
