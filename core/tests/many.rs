//! A batch against the same callers one after the other.

#![cfg(not(tollgate_loom))]
#![cfg(feature = "alloc")]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{BoxedLimiter, Keyer, Nanos, Presented, Quota};

const KEYER: Keyer = Keyer::new(*b"a seed for tests");

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // Some callers come twice in a batch, batches are longer than what is read ahead, and tables so small that most
    // callers are new to them.
    #[test]
    fn a_batch_is_its_callers_in_turn(
        batches in vec((vec(0u32..90, 0..200), 0u64..40), 1..6),
        limit in 1u32..4,
        capacity in 1usize..100,
    ) {
        let limiter = || BoxedLimiter::with_capacity(Quota::per_minute(limit), capacity).unwrap();
        let (together, single) = (limiter(), limiter());
        let mut now = Nanos::from_secs(1);
        for (callers, wait) in batches {
            now = now.saturating_add(Nanos::from_secs(wait));
            let keys: Vec<_> = callers.iter().map(|caller| KEYER.bytes(&caller.to_le_bytes())).collect();
            let mut answers = Vec::new();
            together.check_many(&keys, now, |key, verdict| answers.push((key, verdict)));
            let expected: Vec<_> = keys.iter().map(|&key| (key, single.check(key, Presented::Absent, now))).collect();
            prop_assert_eq!(answers, expected);
            prop_assert_eq!(together.counts(), single.counts());
        }
    }
}
