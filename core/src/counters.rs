use crate::sync::{Tally, TallyOrdering};

/// How often the rare things happened. Nothing is counted on the path of a caller that is found.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) withdrawn: Counter,
    pub(crate) contended: Counter,
    pub(crate) inherited: Counter,
    pub(crate) taken_over: Counter,
    pub(crate) uncounted: Counter,
    pub(crate) refused_by_overflow: Counter,
}

impl Counters {
    pub(crate) const fn new() -> Self {
        Self {
            withdrawn: Counter::new(),
            contended: Counter::new(),
            inherited: Counter::new(),
            taken_over: Counter::new(),
            uncounted: Counter::new(),
            refused_by_overflow: Counter::new(),
        }
    }

    pub(crate) fn read(&self) -> Counts {
        Counts {
            withdrawn: self.withdrawn.read(),
            contended: self.contended.read(),
            inherited: self.inherited.read(),
            taken_over: self.taken_over.read(),
            uncounted: self.uncounted.read(),
            refused_by_overflow: self.refused_by_overflow.read(),
        }
    }
}

/// Counts since the limiter was built. Each is exact; together they are no snapshot of one moment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Counts {
    /// Claims taken back because another thread was inserting, or had inserted, the same caller.
    pub withdrawn: u64,
    /// Decisions for a newcomer all of whose candidates were claims at that moment.
    pub contended: u64,
    /// Words taken over with their count, under [`Overflow::Inherit`](crate::Overflow::Inherit).
    pub inherited: u64,
    /// Words taken over and begun afresh, under [`Overflow::Forget`](crate::Overflow::Forget).
    pub taken_over: u64,
    /// Newcomers that passed uncounted, under [`Overflow::Admit`](crate::Overflow::Admit).
    pub uncounted: u64,
    /// Newcomers refused because every candidate restrains somebody who can't be displaced.
    pub refused_by_overflow: u64,
}

#[derive(Debug)]
pub(crate) struct Counter(Tally);

impl Counter {
    const fn new() -> Self {
        Self(Tally::new(0))
    }

    pub(crate) fn add(&self, n: u64) {
        // ORDERING: a count is read by itself and orders nothing.
        self.0.fetch_add(n, TallyOrdering::Relaxed);
    }

    fn read(&self) -> u64 {
        // ORDERING: as above.
        self.0.load(TallyOrdering::Relaxed)
    }
}
