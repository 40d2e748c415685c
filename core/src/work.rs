//! Counts what a decision touches, in tests alone: that is how the docs know that it is bounded.

#[cfg(all(test, not(tollgate_loom)))]
pub(crate) use tally::taken;
pub(crate) use tally::{loaded, swapped};

#[cfg(any(not(test), tollgate_loom))]
mod tally {
    pub(crate) const fn loaded() {}
    pub(crate) const fn swapped() {}
}

#[cfg(all(test, not(tollgate_loom)))]
mod tally {
    use core::cell::Cell;

    std::thread_local! {
        static LOADS: Cell<u32> = const { Cell::new(0) };
        static SWAPS: Cell<u32> = const { Cell::new(0) };
    }

    pub(crate) fn loaded() {
        LOADS.set(LOADS.get() + 1);
    }

    pub(crate) fn swapped() {
        SWAPS.set(SWAPS.get() + 1);
    }

    /// Slots looked at and swaps tried since this was last asked on this thread.
    pub(crate) fn taken() -> (u32, u32) {
        (LOADS.replace(0), SWAPS.replace(0))
    }
}
