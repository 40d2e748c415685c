use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

/// What is counted, here and through the `metrics` facade: install a recorder before the store is built.
pub(crate) struct Tallies {
    pub(crate) round_trips: Tally,
    /// Decisions by what this node was lent or remembered.
    pub(crate) local: Tally,
    /// Decisions by the store.
    pub(crate) asked: Tally,
    /// Decisions while the store could not be asked.
    pub(crate) outage: Tally,
    /// Requests' worth of credit charged ahead.
    pub(crate) leased: Tally,
    /// Of these, spent.
    pub(crate) spent: Tally,
    pub(crate) wait: Waits,
    pub(crate) state: Gauge,
    pub(crate) unspent: Gauge,
    pub(crate) per_round_trip: Gauge,
    pub(crate) foreign: Gauge,
}

impl Tallies {
    pub(crate) fn new() -> Self {
        Self {
            round_trips: Tally::new(counter!("tollgate_redis_round_trips_total")),
            local: Tally::new(counter!("tollgate_redis_decisions_total", "by" => "node")),
            asked: Tally::new(counter!("tollgate_redis_decisions_total", "by" => "store")),
            outage: Tally::new(counter!("tollgate_redis_decisions_total", "by" => "outage")),
            leased: Tally::new(counter!("tollgate_redis_leased_total")),
            spent: Tally::new(counter!("tollgate_redis_spent_total")),
            wait: Waits(histogram!("tollgate_redis_wait_seconds")),
            state: gauge!("tollgate_redis_state"),
            unspent: gauge!("tollgate_redis_unspent_leases"),
            per_round_trip: gauge!("tollgate_redis_decisions_per_round_trip"),
            foreign: gauge!("tollgate_redis_foreign_nodes"),
        }
    }

    pub(crate) fn read(&self) -> Counts {
        Counts {
            round_trips: self.round_trips.read(),
            by_node: self.local.read(),
            by_store: self.asked.read(),
            in_outage: self.outage.read(),
            leased: self.leased.read(),
            spent: self.spent.read(),
        }
    }

    /// Brings the gauges that follow from counts up to date.
    #[expect(clippy::cast_precision_loss, reason = "a ratio and a count for people to look at")]
    pub(crate) fn refresh(&self) {
        let counts = self.read();
        self.unspent.set(counts.unspent() as f64);
        if counts.round_trips > 0 {
            self.per_round_trip.set((counts.by_node + counts.by_store) as f64 / counts.round_trips as f64);
        }
    }
}

/// Counts since the store was built. Each is exact; together they are no snapshot of one moment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Counts {
    /// Scripts that were run, or tried to.
    pub round_trips: u64,
    /// Decisions by credit that this node held or a refusal that it remembered.
    pub by_node: u64,
    /// Decisions by the store.
    pub by_store: u64,
    /// Decisions while the store could not be asked.
    pub in_outage: u64,
    /// Requests' worth of credit that was charged ahead.
    pub leased: u64,
    /// How much of it was spent.
    pub spent: u64,
}

impl Counts {
    /// Credit that was charged ahead and not spent: it is held still, or was stranded when its time was over.
    #[must_use]
    pub const fn unspent(&self) -> u64 {
        self.leased.saturating_sub(self.spent)
    }
}

/// A count, kept here too so that it can be read.
pub(crate) struct Tally {
    count: AtomicU64,
    facade: Counter,
}

impl Tally {
    fn new(facade: Counter) -> Self {
        Self { count: AtomicU64::new(0), facade }
    }

    pub(crate) fn add(&self, by: u64) {
        // ORDERING: a count is read by itself and orders nothing.
        self.count.fetch_add(by, Ordering::Relaxed);
        self.facade.increment(by);
    }

    fn read(&self) -> u64 {
        // ORDERING: as above.
        self.count.load(Ordering::Relaxed)
    }
}

/// How long round trips took.
pub(crate) struct Waits(Histogram);

impl Waits {
    pub(crate) fn record(&self, wait: Duration) {
        self.0.record(wait.as_secs_f64());
    }
}
