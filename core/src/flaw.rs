//! Switches that break the table's protocol, for tests to show that they notice. They are the constant `false`
//! but under loom, where a test throws them, and in builds with `--cfg tollgate_flaw="naive_insert"`.

#[cfg(not(tollgate_loom))]
mod switches {
    pub(crate) const fn naive_insert() -> bool {
        cfg!(tollgate_flaw = "naive_insert")
    }
    pub(crate) const fn no_rule_6() -> bool {
        false
    }
    pub(crate) const fn no_fence() -> bool {
        false
    }
}

#[cfg(tollgate_loom)]
mod switches {
    use core::cell::Cell;

    /// What to break.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Flaw {
        /// A newcomer's word is committed at once, without a claim.
        NaiveInsert,
        /// A claim is withdrawn to an empty slot and takes the present time.
        NoRule6,
        /// A resolver looks at the other slots without a fence.
        NoFence,
    }

    std::thread_local! {
        // Loom runs all threads of a model on one thread of the system.
        static FLAW: Cell<Option<Flaw>> = const { Cell::new(None) };
    }

    impl Flaw {
        /// Breaks the protocol for all that runs on this thread from now on.
        pub fn install(self) {
            FLAW.set(Some(self));
        }
    }

    pub(crate) fn naive_insert() -> bool {
        FLAW.get() == Some(Flaw::NaiveInsert)
    }
    pub(crate) fn no_rule_6() -> bool {
        FLAW.get() == Some(Flaw::NoRule6)
    }
    pub(crate) fn no_fence() -> bool {
        FLAW.get() == Some(Flaw::NoFence)
    }
}

#[cfg(tollgate_loom)]
pub use switches::Flaw;
pub(crate) use switches::{naive_insert, no_fence, no_rule_6};
