use std::time::{Duration, Instant};

use tollgate::{Basis, Key, Nanos, Quota, Reason, Verdict};
use tollgate_redis::{Outage, Server, SharedLimiter, State, Store};

use super::{DEADLINE, KEYER, connected, eventually, key};

/// A node with the waits of a real one, but probes that don't keep a test waiting.
pub(crate) async fn real_node(port: u16) -> Store {
    let server = Server::single(format!("redis://127.0.0.1:{port}"));
    let builder = Store::builder(server, &KEYER)
        .nodes(3)
        .probe(Duration::from_millis(10))
        .ramp(Duration::from_millis(50))
        .heartbeat(Duration::from_millis(100));
    connected(builder).await
}

/// A limiter for each policy.
pub(crate) struct Policies {
    pub(crate) share: SharedLimiter,
    pub(crate) open: SharedLimiter,
    pub(crate) closed: SharedLimiter,
    began: Instant,
}

pub(crate) const LIMIT: u32 = 30;

impl Policies {
    pub(crate) fn of(store: &Store) -> Self {
        let build = |name, outage| {
            store.limiter(name, Quota::per_hour(LIMIT)).capacity(256).outage(outage).build().unwrap()
        };
        Self {
            share: build("share", Outage::Share),
            open: build("open", Outage::Open),
            closed: build("closed", Outage::Closed),
            began: Instant::now(),
        }
    }

    /// Those of a node of their own, once the store decides.
    pub(crate) async fn in_place(port: u16) -> Self {
        let policies = Self::of(&real_node(port).await);
        eventually("the store decides", async || policies.is_back(key(0)).await).await;
        policies
    }

    pub(crate) fn store(&self) -> &Store {
        self.share.store()
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos::from_duration(self.began.elapsed())
    }

    pub(crate) async fn check(&self, limiter: &SharedLimiter, key: Key) -> Verdict {
        // However slow this machine is, an answer that takes a hundred times the wait was not bounded by it.
        tokio::time::timeout(DEADLINE, limiter.check(key, 1, self.now()))
            .await
            .expect("an answer, whatever happens")
    }

    /// Whether the store decides again, and does so on a caller of its own.
    pub(crate) async fn is_back(&self, key: Key) -> bool {
        self.store().state() == State::Connected
            && matches!(self.check(&self.open, key).await, Verdict::Admitted(standing) if standing.basis == Basis::Own)
    }

    /// Waits until the fault is noticed, then checks every policy on a caller that is new to all.
    pub(crate) async fn hold(&self, key: Key) {
        eventually("the fault is noticed", async || {
            let _ = self.check(&self.share, Key::from_fingerprint(!key.fingerprint())).await;
            self.store().state() == State::Unreachable
        })
        .await;
        let (mut passed, mut refusals) = (0, 0);
        for _ in 0..LIMIT {
            match self.check(&self.share, key).await {
                Verdict::Admitted(standing) => {
                    assert_eq!((standing.basis, standing.limit), (Basis::Share, LIMIT / 3));
                    passed += 1;
                }
                Verdict::Refused(refusal) => {
                    assert_eq!((refusal.reason, refusal.limit), (Reason::Share, LIMIT / 3));
                    refusals += 1;
                }
                verdict @ Verdict::Exempt(_) => panic!("{verdict:?}"),
            }
            let Verdict::Admitted(standing) = self.check(&self.open, key).await else {
                panic!("it fails open")
            };
            assert_eq!((standing.basis, standing.receipt.cost()), (Basis::Uncounted, 0));
            let Verdict::Refused(refusal) = self.check(&self.closed, key).await else {
                panic!("it fails closed")
            };
            assert_eq!(refusal.reason, Reason::Unreachable);
            assert!(refusal.retry_after > Nanos::ZERO);
        }
        assert_eq!((passed, refusals), (LIMIT / 3, LIMIT - LIMIT / 3));
    }

    /// Waits until the store decides again; says how long that took, and checks that what was admitted meanwhile has been
    /// charged.
    pub(crate) async fn recovered(&self, fault: &str, key: Key) {
        let began = Instant::now();
        let mut other = key.fingerprint();
        eventually("the store decides again", async || {
            other = other.wrapping_add(1 << 40);
            self.is_back(Key::from_fingerprint(other)).await
        })
        .await;
        println!("{fault}: the store decides again after {:?}", began.elapsed());
        let mut passed = 0;
        while passed <= LIMIT {
            match self.check(&self.share, key).await {
                Verdict::Admitted(standing) if standing.basis != Basis::Share => passed += 1,
                // A slow machine may make an outage of its own.
                Verdict::Refused(refusal) if refusal.reason == Reason::OverLimit => break,
                _ => {}
            }
        }
        assert!(passed <= LIMIT - LIMIT / 3, "{passed} after {} in the outage", LIMIT / 3);
        assert!(passed >= LIMIT / 2, "only {passed} of what remains");
    }
}
