use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tollgate::Keyer;

use crate::batch::Batch;
use crate::breaker::{Breaker, State};
use crate::error::StoreError;
use crate::keeper;
use crate::link::Link;
use crate::scripts::Scripts;
use crate::server::Server;
use crate::store::{Inner, Store};
use crate::tallies::Tallies;
use crate::time_source::TimeSource;

/// Settings of a [`Store`].
#[derive(Clone, Debug)]
#[must_use = "a builder connects nothing: call build()"]
pub struct StoreBuilder {
    server: Server,
    keyer: Keyer,
    seed: String,
    prefix: String,
    node: String,
    nodes: u32,
    wait: Duration,
    failures: u32,
    ramp: Duration,
    margin: Duration,
    heartbeat: Duration,
    probe: Duration,
    time: TimeSource,
}

impl Store {
    /// Begins with a server, and with the keyer whose seed all nodes share: budgets are found by the keys that it makes,
    /// and nodes with another seed are noticed by a fingerprint of it.
    pub fn builder(server: Server, keyer: &Keyer) -> StoreBuilder {
        let seed = keyer.bytes(b"tollgate-redis: which seed").fingerprint();
        StoreBuilder {
            server,
            keyer: keyer.clone(),
            seed: format!("{seed:016x}"),
            prefix: "tollgate".into(),
            node: format!("{:016x}", RandomState::new().build_hasher().finish()),
            nodes: 1,
            wait: Duration::from_millis(20),
            failures: 3,
            ramp: Duration::from_secs(1),
            margin: Duration::from_secs(1),
            heartbeat: Duration::from_secs(5),
            probe: Duration::from_millis(100),
            time: TimeSource::Server,
        }
    }
}

impl StoreBuilder {
    /// What all keys begin with. The default is `tollgate`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// This node's name, for people. The default is a random number.
    pub fn node(mut self, name: impl Into<String>) -> Self {
        self.node = name.into();
        self
    }

    /// How many nodes run at most at one time: what a limit is divided by while the store can't be reached. The default
    /// is 1, and then each node grants the whole limit in an outage.
    pub fn nodes(mut self, nodes: u32) -> Self {
        self.nodes = nodes.max(1);
        self
    }

    /// How long a decision waits for the store. The default is 20 ms: far more than a round trip in one data centre takes,
    /// and less than a caller notices.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// After how many failures in a row the store is no longer asked, but probed in the background. The default is 3: one
    /// may be a lost packet, and each costs a caller the whole wait.
    pub fn failures(mut self, failures: u32) -> Self {
        self.failures = failures.max(1);
        self
    }

    /// In which time after an outage all callers are the store's again, each from a moment of its own. The default is a
    /// second; zero lets all come at once.
    pub fn ramp(mut self, ramp: Duration) -> Self {
        self.ramp = ramp;
        self
    }

    /// By how much keys outlive what they say. The default is a second, for clocks that disagree; simulations that pass
    /// [their own time](TimeSource::Caller) need as much as they take.
    pub fn margin(mut self, margin: Duration) -> Self {
        self.margin = margin;
        self
    }

    /// How often this node enters itself in the register and reads who else is there. The default is 5 seconds; nodes are
    /// forgotten after six times as long.
    pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat;
        self
    }

    /// How soon after a failure the store is probed; then after twice as long, and so on up to 2 seconds, each time a
    /// random part longer, so that nodes don't come back together. The default is 100 ms.
    pub fn probe(mut self, probe: Duration) -> Self {
        self.probe = probe;
        self
    }

    /// Whose clock decides. The default is the server's.
    pub fn time(mut self, time: TimeSource) -> Self {
        self.time = time;
        self
    }

    /// Checks the settings and begins to connect in the background.
    ///
    /// # Errors
    /// If any setting can't work, or there is no tokio runtime; not if the server can't be reached.
    pub fn build(self) -> Result<Store, StoreError> {
        named(&self.prefix)?;
        named(&self.node)?;
        for (what, time) in
            [("a decision", self.wait), ("the heartbeat", self.heartbeat), ("the probe", self.probe)]
        {
            if time.is_zero() {
                return Err(StoreError::NoTime(what));
            }
        }
        let runtime = Handle::try_current().map_err(|_| StoreError::NoRuntime)?;
        let link = Link {
            route: self.server.route()?,
            breaker: Breaker::new(self.failures, self.ramp, Instant::now()),
            scripts: Scripts::new(),
            source: self.time,
            wait: self.wait,
            margin: self.margin,
            connection: ArcSwapOption::empty(),
            no_time: AtomicBool::new(false),
        };
        let inner = Arc::new(Inner {
            link,
            tallies: Tallies::new(),
            batch: Batch::default(),
            runtime,
            keyer: self.keyer,
            prefix: self.prefix,
            seed: self.seed,
            node: self.node,
            nodes: self.nodes,
            seen: AtomicU32::new(0),
            foreign: Mutex::new(Vec::new()),
            heartbeat: self.heartbeat,
            probe: self.probe,
            state: watch::Sender::new(State::Unreachable),
        });
        inner.runtime.spawn(keeper::keep(Arc::downgrade(&inner)));
        Ok(Store(inner))
    }
}

/// Whether a name can be part of a key without making it ambiguous.
pub(crate) fn named(name: &str) -> Result<(), StoreError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if (1..=64).contains(&name.len()) && name.bytes().all(allowed) {
        Ok(())
    } else {
        Err(StoreError::Name(name.into()))
    }
}
