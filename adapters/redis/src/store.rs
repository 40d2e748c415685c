use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::watch;
use tollgate::{Keyer, Quota};

use crate::batch::Batch;
use crate::breaker::State;
use crate::limiter_builder::SharedLimiterBuilder;
use crate::link::Link;
use crate::tallies::{Counts, Tallies};

/// The store of budgets that several nodes share: a Redis or Valkey server, a cluster, or what Sentinel names.
///
/// Clones are one store with one connection. It connects by itself, in the background, and again after each outage; until
/// then and in between, [`Outage`](crate::Outage) decides.
#[derive(Clone)]
pub struct Store(pub(crate) Arc<Inner>);

/// What a store's clones, its limiters and its keeper share.
pub(crate) struct Inner {
    pub(crate) link: Link,
    pub(crate) tallies: Tallies,
    pub(crate) batch: Batch,
    pub(crate) runtime: Handle,
    pub(crate) keyer: Keyer,
    pub(crate) prefix: String,
    /// The fingerprint of this node's seed, and its name.
    pub(crate) seed: String,
    pub(crate) node: String,
    /// How many nodes there are at most, as configured.
    pub(crate) nodes: u32,
    /// How many there were when the register was read last.
    pub(crate) seen: AtomicU32,
    pub(crate) foreign: Mutex<Vec<String>>,
    pub(crate) heartbeat: Duration,
    pub(crate) probe: Duration,
    pub(crate) state: watch::Sender<State>,
}

impl Store {
    /// Begins a limiter of this store: a quota under a name, which its keys carry. Nodes that use one name with quotas of
    /// the same kind and similar size share its budgets.
    pub fn limiter(&self, name: impl Into<String>, quota: Quota) -> SharedLimiterBuilder {
        SharedLimiterBuilder::new(self.clone(), name.into(), quota)
    }

    /// Waits until the store answers. A server need not wait for it, and is best given a time:
    /// `tokio::time::timeout(…, store.connected())`.
    pub async fn connected(&self) {
        let mut state = self.0.state.subscribe();
        // The sender lives as long as the store.
        drop(state.wait_for(|&state| state != State::Unreachable).await);
    }

    /// How this node and its store stand.
    #[must_use]
    pub fn state(&self) -> State {
        self.0.link.breaker.state(Instant::now())
    }

    /// Counts since the store was built.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.tallies.read()
    }

    /// How many nodes with this seed there are under this prefix: those that were heard of lately, this one included once
    /// it has connected.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        // ORDERING: a number by itself.
        self.0.seen.load(Ordering::Relaxed)
    }

    /// The names of nodes that use this prefix with another seed. Each of them has budgets of its own: give all nodes one
    /// seed, or those that are to have their own another prefix.
    #[must_use]
    pub fn foreign_nodes(&self) -> Vec<String> {
        self.0.foreign.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Inner {
    /// At most this part of what remains is lent to one node, so that what all hold is a twentieth of the limit at most.
    pub(crate) fn divisor(&self) -> u32 {
        // ORDERING: a number by itself.
        let nodes = self.nodes.max(self.seen.load(Ordering::Relaxed));
        nodes.saturating_mul(HELD)
    }

    /// Tells everybody who waits or watches.
    pub(crate) fn tell(&self) {
        let state = self.link.breaker.state(Instant::now());
        self.tallies.state.set(match state {
            State::Connected => 0.0,
            State::Recovering => 1.0,
            State::Unreachable => 2.0,
        });
        self.state.send_replace(state);
    }
}

/// All nodes together hold 1/HELD of a caller's limit at most.
const HELD: u32 = 20;

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Store");
        out.field("prefix", &self.0.prefix).field("node", &self.0.node).field("state", &self.state());
        out.finish_non_exhaustive()
    }
}
