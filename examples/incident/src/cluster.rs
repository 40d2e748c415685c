use std::sync::Arc;
use std::time::Duration;

use tollgate_axum::{Gate, Keyer};
use tollgate_redis::{Server, Store};

use crate::Error;
use crate::gate::builder;
use crate::options::Options;
use crate::token::Token;

/// Three nodes of the API, whose gates keep one budget in a store.
pub(crate) struct Cluster {
    pub(crate) gates: Vec<Arc<Gate>>,
    stores: Vec<Store>,
}

const NODES: u32 = 3;
/// A machine that plays all parts at once may keep a node waiting for longer than the 20 ms that are the default.
const WAIT: Duration = Duration::from_secs(2);
/// And so long it may take to find out whether there is a server.
const PATIENCE: Duration = Duration::from_secs(5);

impl Cluster {
    /// As on three machines: each node has its own way to the server. Budgets are this run's alone.
    pub(crate) async fn connect(url: &str, options: &Options, token: &Token) -> Result<Self, Error> {
        let random = || getrandom::u64().map_err(|error| Error::Token(error.into()));
        let (seed, run) = (u128::from(random()?) << 64 | u128::from(random()?), random()?);
        let keyer = Keyer::new(seed.to_ne_bytes());
        let (mut gates, mut stores) = (Vec::new(), Vec::new());
        for node in 1..=NODES {
            let store = Store::builder(Server::single(url), &keyer)
                .prefix(format!("incident-{run:016x}"))
                .node(format!("node-{node}"))
                .nodes(NODES)
                .wait(WAIT)
                .build()?;
            if tokio::time::timeout(PATIENCE, store.connected()).await.is_err() {
                // Before the last @ may be a password.
                let server = url.rsplit_once('@').map_or(url, |(_, server)| server);
                return Err(Error::NoStore(server.into()));
            }
            gates.push(Arc::new(builder(options, Some(token)).shared(store.clone()).build()?));
            stores.push(store);
        }
        Ok(Self { gates, stores })
    }

    /// What the nodes did in all.
    pub(crate) fn counts(&self) -> Counts {
        self.stores.iter().map(Store::counts).fold(Counts::default(), |sum, counts| Counts {
            without_store: sum.without_store + counts.in_outage,
            round_trips: sum.round_trips + counts.round_trips,
        })
    }
}

/// What three nodes did.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    /// Decisions that the store gave no answer to.
    pub(crate) without_store: u64,
    pub(crate) round_trips: u64,
}
