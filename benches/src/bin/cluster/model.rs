use std::error::Error;

use hashbrown::HashMap;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tollgate::{Account, Key, Nanos, Note, Quota};
use tollgate_redis::{Known, Leases};

/// Some nodes with the leases of the crate itself, and a store that is a map.
pub(crate) struct Cluster {
    account: Account,
    nodes: Vec<Leases>,
    store: HashMap<u64, u64>,
    /// Requests of one caller all go to one node.
    sticky: bool,
    /// Of each caller what was admitted and what was charged, and the most that nodes held of it unspent.
    callers: HashMap<u64, Caller>,
    pub(crate) figures: Figures,
}

#[derive(Clone, Copy, Default)]
struct Caller {
    admitted: u32,
    charged: u32,
    held: u32,
}

/// What is counted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) requests: u64,
    pub(crate) trips: u64,
}

impl Cluster {
    pub(crate) fn new(quota: Quota, nodes: usize, sticky: bool, room: usize) -> Result<Self, Box<dyn Error>> {
        let account = Account::new(quota)?;
        let nodes = (0..nodes)
            .map(|_| Leases::new(&account, 1_024, Nanos::from_secs(1), room))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            account,
            nodes,
            store: HashMap::new(),
            callers: HashMap::new(),
            sticky,
            figures: Figures::default(),
        })
    }

    /// Sends requests for a time, evenly, from callers of whom rank r comes in proportion to 1/r.
    pub(crate) fn run(&mut self, callers: u64, requests: u64, span: Nanos) -> Result<(), Box<dyn Error>> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        #[expect(clippy::cast_precision_loss, reason = "ten million is exact")]
        let most = (callers as f64).ln();
        let start = 1_764_000_000_000_000_000;
        for request in 0..requests {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 1 and the callers"
            )]
            let rank = (random.random::<f64>() * most).exp() as u64;
            let key = Key::from_fingerprint((rank + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let nodes = self.nodes.len();
            let node =
                if self.sticky { usize::try_from(rank)? % nodes } else { random.random_range(0..nodes) };
            let (passed, charged) = self.request(node, key, Nanos(start + span.0 / requests * request));
            let caller = self.callers.entry(rank).or_default();
            caller.admitted += u32::from(passed);
            caller.charged += charged;
            caller.held = caller.held.max(caller.charged - caller.admitted);
            self.figures.requests += 1;
        }
        Ok(())
    }

    /// The largest share of a caller's limit that nodes held unspent at one time, which is what can be stranded at most.
    pub(crate) fn held(&self) -> f64 {
        let most = self.callers.values().map(|caller| caller.held).max().unwrap_or(0);
        f64::from(most) / f64::from(self.account.limit())
    }

    /// Whether a request passes, and what the store has charged.
    fn request(&mut self, node: usize, key: Key, now: Nanos) -> (bool, u32) {
        let divisor = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX).saturating_mul(20);
        let Some(leases) = self.nodes.get(node) else { return (false, 0) };
        match leases.spend(key, 1, now) {
            Known::Admitted { .. } => return (true, 0),
            Known::Refused { .. } => return (false, 0),
            Known::Nothing => {}
        }
        // As the script does, by the same arithmetic.
        self.figures.trips += 1;
        let before = self.store.get(&key.fingerprint()).copied();
        let remaining = match self.account.charge(key, before, now, 0).1 {
            tollgate::Verdict::Admitted(standing) => standing.remaining,
            _ => 0,
        };
        let charge = leases.chunk(key, 1, now).min(remaining / divisor).max(1);
        match self.account.charge(key, before, now, charge) {
            (Some(state), tollgate::Verdict::Admitted(standing)) => {
                self.store.insert(key.fingerprint(), state);
                let said = Note { lasts: standing.resets_in, number: standing.remaining };
                leases.deposit(key, charge, charge - 1, self.account.lasts(state, now), said, now);
                (true, charge)
            }
            (_, tollgate::Verdict::Refused(refusal)) => {
                leases.refuse(key, 1, refusal.retry_after, now);
                (false, 0)
            }
            _ => (false, 0),
        }
    }
}
