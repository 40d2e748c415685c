use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use tollgate::{BoxedLimiter, BoxedPenalty, Nanos};

/// A limiter that is swept in time.
///
/// The table keeps times on a ring, and a word that lies untouched for half of it may restrain its caller once more,
/// for one window. Sweeping before that prevents it. The decision that finds a sweep due starts a short thread for
/// it and goes on: a sweep of a large table takes longer than a request should wait, a timer would need a runtime
/// and somebody to keep it alive, and a thread of its own would sleep for days (at 300 a minute a sweep is due every
/// six days).
pub(crate) struct Upkeep<L> {
    limiter: L,
    /// When the next sweep is due; [`RUNNING`] while one is on its way.
    due: AtomicU64,
    interval: Nanos,
}

const RUNNING: u64 = u64::MAX;
/// No sweeps more often than this, whatever the quota. Where half a ring is shorter, a caller may be restrained once
/// more, for a window that is shorter still.
const SHORTEST_INTERVAL: Nanos = Nanos::from_secs(1);

/// What is to be swept.
pub(crate) trait Swept: Send + Sync + 'static {
    fn sweep(&self, now: Nanos) -> usize;
    fn sweep_interval(&self) -> Nanos;
}

impl Swept for BoxedLimiter {
    fn sweep(&self, now: Nanos) -> usize {
        self.sweep(now)
    }

    fn sweep_interval(&self) -> Nanos {
        self.sweep_interval()
    }
}

impl Swept for BoxedPenalty {
    fn sweep(&self, now: Nanos) -> usize {
        self.sweep(now)
    }

    fn sweep_interval(&self) -> Nanos {
        self.sweep_interval()
    }
}

impl<L: Swept> Upkeep<L> {
    /// No sweep is due until [`rest`](Self::rest) is told the time.
    pub(crate) fn new(limiter: L) -> Arc<Self> {
        let interval = limiter.sweep_interval().max(SHORTEST_INTERVAL);
        Arc::new(Self { limiter, due: AtomicU64::new(RUNNING), interval })
    }

    pub(crate) fn limiter(&self) -> &L {
        &self.limiter
    }

    /// Starts a sweep if one is due and none is running.
    #[inline]
    pub(crate) fn see_to_it(self: &Arc<Self>, now: Nanos) -> Option<JoinHandle<usize>> {
        // ORDERING: the time decides only who sweeps; the sweep itself may run beside anything, so relaxed is
        // enough here and below.
        let due = self.due.load(Ordering::Relaxed);
        if now.0 < due || due == RUNNING { None } else { self.start(due, now) }
    }

    #[cold]
    #[inline(never)]
    fn start(self: &Arc<Self>, due: u64, now: Nanos) -> Option<JoinHandle<usize>> {
        self.due.compare_exchange(due, RUNNING, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        let kept = Arc::clone(self);
        let sweep = move || {
            let cleared = kept.limiter.sweep(now);
            kept.rest(now);
            cleared
        };
        let started = thread::Builder::new().name("tollgate-sweep".into()).spawn(sweep);
        // Without a thread there is no sweep now; the next one is tried in its turn.
        started.inspect_err(|_| self.rest(now)).ok()
    }

    /// The next sweep is due an interval from now.
    pub(crate) fn rest(&self, now: Nanos) {
        self.due.store(now.saturating_add(self.interval).0.min(RUNNING - 1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate::{Keyer, Presented, Quota};

    #[test]
    fn sweeps_once_when_due_and_not_before() {
        let quota = Quota::new(1 << 21, Nanos::from_secs(1));
        let kept = Upkeep::new(BoxedLimiter::with_capacity(quota, 1024).unwrap());
        kept.rest(Nanos::ZERO);
        let keyer = Keyer::new([7; 16]);
        for caller in 0_u8..100 {
            let _ = kept.limiter().check(keyer.bytes(&[caller]), Presented::Absent, Nanos::ZERO);
        }
        // Four of the ring's quarters are four windows or more, so what is swept is over.
        let due = kept.limiter().sweep_interval().0;
        assert!(kept.see_to_it(Nanos(due - 1)).is_none());
        let swept = kept.see_to_it(Nanos(due)).expect("it is due");
        assert_eq!(swept.join().unwrap(), 100);
        assert!(kept.see_to_it(Nanos(due)).is_none());
        assert!(kept.see_to_it(Nanos(2 * due)).is_some());
    }
}
