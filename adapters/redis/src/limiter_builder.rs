use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tollgate::{Account, BuildError, Nanos, Quota};

use crate::budget::Budget;
use crate::builder::named;
use crate::error::StoreError;
use crate::figures::Figures;
use crate::flights::Flights;
use crate::leases::Leases;
use crate::limiter::SharedLimiter;
use crate::outage::{Outage, share};
use crate::store::Store;
use crate::upkeep::Upkeep;

/// Settings of a [`SharedLimiter`].
#[derive(Clone, Debug)]
#[must_use = "a builder limits nobody: call build()"]
pub struct SharedLimiterBuilder {
    store: Store,
    name: String,
    quota: Quota,
    /// The largest lease; `None` asks the store each time.
    largest: Option<u32>,
    memory: Duration,
    capacity: usize,
    outage: Outage,
}

impl SharedLimiterBuilder {
    pub(crate) fn new(store: Store, name: String, quota: Quota) -> Self {
        Self {
            store,
            name,
            quota,
            largest: Some(1024),
            memory: Duration::from_secs(1),
            capacity: 1 << 16,
            outage: Outage::Share,
        }
    }

    /// Asks the store for each decision, and remembers nothing. The default is to lease.
    pub fn strict(mut self) -> Self {
        self.largest = None;
        self
    }

    /// How much is leased at once for a busy caller, at most, up to 4,095; with 1 nothing is charged ahead, and only
    /// refusals are remembered. The default is 1,024.
    pub fn largest_lease(mut self, requests: u32) -> Self {
        self.largest = Some(requests);
        self
    }

    /// For how long a refusal is remembered, at most; the store is asked again then, and so learns of refunds, cleared
    /// callers and limits that changed. The default is a second.
    pub fn memory(mut self, memory: Duration) -> Self {
        self.memory = memory;
        self
    }

    /// For how many callers in a window this node has room, twice; beyond it the store is asked more often, and in an
    /// outage the table's overflow rules hold. The default is 65,536: 1.5 MiB.
    pub fn capacity(mut self, callers: usize) -> Self {
        self.capacity = callers;
        self
    }

    /// What decides while the store can't be asked. The default is [`Outage::Share`].
    pub fn outage(mut self, outage: Outage) -> Self {
        self.outage = outage;
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// If any can't work.
    pub fn build(self) -> Result<SharedLimiter, StoreError> {
        named(&self.name)?;
        let account = Account::new(self.quota).map_err(BuildError::Quota)?;
        let share = share(self.quota, &account, self.store.0.nodes, self.capacity)?;
        let memory = Nanos::from_duration(self.memory).max(Nanos::from_millis(1));
        let leases = match self.largest {
            Some(largest) => Some(Leases::new(&account, largest, memory, self.capacity)?),
            None => None,
        };
        let interval = leases.as_ref().map_or(Nanos::MAX, Leases::sweep_interval).min(share.sweep_interval());
        let figures = Figures::new(account.layout());
        let name = format!("{}.{}", self.name, figures.layout);
        Ok(SharedLimiter(Arc::new(Budget {
            store: self.store,
            quota: self.quota,
            account,
            figures: figures.numbers,
            name,
            leases,
            upkeep: Upkeep::new(interval),
            share,
            shared: AtomicBool::new(false),
            flights: Flights::new(),
            outage: self.outage,
        })))
    }
}
