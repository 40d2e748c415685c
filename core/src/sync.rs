//! The atomics that the table stands on: the target's own, a stand-in where it has none of 64 bits, or loom's.

#[cfg(all(not(tollgate_loom), target_has_atomic = "64"))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(tollgate_loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(all(not(tollgate_loom), not(target_has_atomic = "64")))]
pub(crate) use portable_atomic::{AtomicU64, Ordering, fence};

/// Counters order nothing and decide nothing, so loom need not explore them.
#[cfg(target_has_atomic = "64")]
pub(crate) use core::sync::atomic::{AtomicU64 as Tally, Ordering as TallyOrdering};
#[cfg(not(target_has_atomic = "64"))]
pub(crate) use portable_atomic::{AtomicU64 as Tally, Ordering as TallyOrdering};

/// Stripes of a counter: seven, by which neighbouring threads differ, but one where there is one core.
#[cfg(target_has_atomic = "64")]
pub(crate) const STRIPES: usize = 7;
#[cfg(not(target_has_atomic = "64"))]
pub(crate) const STRIPES: usize = 1;

/// Whether a decision looks through its caller's first line first, from the home slot on, in code of its own: not where code
/// is scarce, and not where each look at a word is one more that three threads' looks are interleaved with. Two threads are
/// explored with it, too.
pub(crate) const HOME_FIRST: bool =
    cfg!(all(target_has_atomic = "64", any(not(tollgate_loom), tollgate_home_first)));
