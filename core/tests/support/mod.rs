//! What the models of quotas share.

use proptest::prelude::*;

/// Windows of every size: 2,048 ns to 146 years, on powers of two and beside them.
pub(crate) fn windows() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(1_000_000_000),
        Just(60_000_000_000),
        Just(86_400_000_000_000),
        (11u32..62, -1i64..=1).prop_map(|(bits, by)| (1u64 << bits).saturating_add_signed(by).max(2048)),
        2048u64..=1 << 62,
    ]
}
