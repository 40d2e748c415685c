//! The atomics that the table stands on: the target's own, a stand-in where it has none of 64 bits, or loom's.

#[cfg(all(not(loom), target_has_atomic = "64"))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(all(not(loom), not(target_has_atomic = "64")))]
pub(crate) use portable_atomic::{AtomicU64, Ordering, fence};

/// Counters order nothing and decide nothing, so loom need not explore them.
#[cfg(target_has_atomic = "64")]
pub(crate) use core::sync::atomic::{AtomicU64 as Tally, Ordering as TallyOrdering};
#[cfg(not(target_has_atomic = "64"))]
pub(crate) use portable_atomic::{AtomicU64 as Tally, Ordering as TallyOrdering};
