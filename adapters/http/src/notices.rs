//! What the log tells an operator about proxies, once.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use tollgate::{Nanos, Origins};

use crate::request::RequestFields;
use crate::source::Source;

/// Whether a gate's first requests look as its source makes one expect.
pub(crate) struct Notices {
    /// How many requests are still looked at.
    left: AtomicU32,
    /// When the log may next say that a peer is not known.
    no_peer: AtomicU64,
}

/// The log says no more often than this that peers are not known.
const EVERY: Nanos = Nanos::from_secs(60);

/// So many requests are looked at.
const FIRST: u32 = 1_000;

/// Fields that proxies tell the caller's address with.
const FORWARDING: [&str; 5] =
    ["x-forwarded-for", "forwarded", "cf-connecting-ip", "fly-client-ip", "x-real-ip"];

/// Each is told once in a process, however many gates it has.
static SHARED_BUDGET: AtomicBool = AtomicBool::new(false);
static NEVER_SEEN: AtomicBool = AtomicBool::new(false);
static NOT_TRUSTED: AtomicBool = AtomicBool::new(false);
static NO_SUCH_CLASS: AtomicBool = AtomicBool::new(false);
static WITHOUT_WAITING: AtomicBool = AtomicBool::new(false);

impl Notices {
    pub(crate) const fn new() -> Self {
        Self { left: AtomicU32::new(FIRST), no_peer: AtomicU64::new(0) }
    }

    /// Looks at one of the first requests.
    #[inline]
    pub(crate) fn look<const N: usize>(
        &self,
        source: &Source,
        origins: &Origins<N>,
        peer: &IpAddr,
        fields: &(impl RequestFields + ?Sized),
    ) {
        // ORDERING: a number of requests, which orders nothing; here and below.
        if self.left.load(Ordering::Relaxed) > 0 {
            self.examine(source, origins.is_trusted(*peer), *peer, fields);
        }
    }

    #[cold]
    #[inline(never)]
    fn examine(
        &self,
        source: &Source,
        is_trusted: bool,
        peer: IpAddr,
        fields: &(impl RequestFields + ?Sized),
    ) {
        let Ok(left) =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
        else {
            return;
        };
        let has = |name| fields.lines(name).next().is_some();
        match source.field() {
            None if is_local(peer) => {
                if let Some(name) = FORWARDING.into_iter().find(|name| has(name)) {
                    self.rest();
                    tell(&SHARED_BUDGET, || shared_budget(name));
                }
            }
            Some(name) if has(name) && is_trusted => self.rest(),
            Some(name) if has(name) && is_local(peer) => {
                self.rest();
                tell(&NOT_TRUSTED, || not_trusted(name));
            }
            Some(name) if left == 1 => tell(&NEVER_SEEN, || never_seen(name)),
            None | Some(_) => {}
        }
    }

    /// Whether it is time to say that a peer is not known.
    pub(crate) fn may_say_no_peer(&self, now: Nanos) -> bool {
        let next = now.saturating_add(EVERY).0;
        let is_due = |due: u64| (due <= now.0).then_some(next);
        self.no_peer.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_due).is_ok()
    }

    /// All is said, or nothing is to be said.
    fn rest(&self) {
        self.left.store(0, Ordering::Relaxed);
    }
}

/// Says once that terms name a class that there is not.
#[cold]
pub(crate) fn no_such_class(name: &str) {
    tell(&NO_SUCH_CLASS, || {
        tracing::warn!(
            "the gate has no class {name:?}, so its callers are held to another's limit: check the name"
        );
    });
}

/// Says once that a shared gate is asked by whoever can't wait.
#[cold]
pub(crate) fn tell_without_waiting() {
    tell(&WITHOUT_WAITING, || {
        tracing::error!(
            "a gate with a shared store was asked by `decide` or `admit`, which can't wait for the store, so what this node \
             does not know by itself is refused: use `decide_shared` or `admit_shared`"
        );
    });
}

fn tell(told: &AtomicBool, notice: impl FnOnce()) {
    // ORDERING: whoever swaps first speaks; nothing is handed over.
    if !told.swap(true, Ordering::Relaxed) {
        notice();
    }
}

fn shared_budget(name: &str) {
    tracing::warn!(
        "requests come through a proxy (they carry {name}) and no proxy is trusted, so every caller behind this proxy \
         shares one budget: choose where callers' addresses are found and whom to trust, for example \
         Gate::builder(..).source(Source::XForwardedFor).trust_network(\"10.0.0.0/8\")"
    );
}

fn not_trusted(name: &str) {
    tracing::warn!(
        "requests with {name} come from a private, loopback or link-local address that is not trusted, so all callers \
         behind it share one budget: check the trusted networks, the proxy's own address belongs to them"
    );
}

fn never_seen(name: &str) {
    tracing::warn!(
        "callers' addresses are to be found in {name}, and none of the first {FIRST} counted requests carried it, so each is \
         counted by its socket's peer: check the field that the proxy sets, or leave the source out if there is no \
         proxy"
    );
}

/// Whether an address is a private, loopback or link-local one, as a proxy's of one's own is.
fn is_local(peer: IpAddr) -> bool {
    match peer.to_canonical() {
        IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}
