use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tollgate::Key;

/// Whether the store is asked: not while it fails, and after that again for more and more callers, so that a server that
/// comes back is not met by all at once.
pub(crate) struct Breaker {
    /// So many failures in a row open it.
    most: u32,
    ramp: Duration,
    epoch: Instant,
    failures: AtomicU32,
    /// `OPEN`, `CLOSED`, or when it began to close, in nanoseconds since the epoch.
    state: AtomicU64,
    /// Told when it opens.
    pub(crate) opened: Arc<Notify>,
}

/// How a node and its store stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum State {
    /// The store is asked.
    Connected,
    /// The store is back and asked for a growing part of the callers.
    Recovering,
    /// The store can't be reached, or has not been yet: [`Outage`](crate::Outage) decides.
    Unreachable,
}

const OPEN: u64 = 0;
const CLOSED: u64 = u64::MAX;

// ORDERING: each word is read by itself and publishes nothing; a decision that sees it late asks once too often or too
// seldom.
const ORDERING: Ordering = Ordering::Relaxed;

impl Breaker {
    /// An open one.
    pub(crate) fn new(most: u32, ramp: Duration, now: Instant) -> Self {
        Self {
            most,
            ramp,
            epoch: now,
            failures: AtomicU32::new(most),
            state: AtomicU64::new(OPEN),
            opened: Arc::default(),
        }
    }

    /// Whether to ask about a caller now.
    pub(crate) fn admits(&self, key: Key, now: Instant) -> bool {
        match self.state.load(ORDERING) {
            CLOSED => true,
            OPEN => false,
            since => {
                let elapsed = self.nanos(now).saturating_sub(since);
                let ramp = nanos(self.ramp);
                if elapsed >= ramp {
                    let _ = self.state.compare_exchange(since, CLOSED, ORDERING, ORDERING);
                    return true;
                }
                // A caller's turn comes at a time of its own, in 65,536 steps.
                u128::from(key.fingerprint() >> 24 & 0xffff) * u128::from(ramp) < u128::from(elapsed) << 16
            }
        }
    }

    pub(crate) fn succeeded(&self) {
        if self.failures.load(ORDERING) != 0 {
            self.failures.store(0, ORDERING);
        }
    }

    /// A decision had no answer in time. If it is one too many, the keeper is told.
    pub(crate) fn failed(&self) {
        if self.opens() {
            self.opened.notify_one();
        }
    }

    /// Counts a failure; whether the store was asked until now, and is no longer.
    pub(crate) fn opens(&self) -> bool {
        let failures = self.failures.fetch_add(1, ORDERING).saturating_add(1);
        failures >= self.most && self.state.swap(OPEN, ORDERING) != OPEN
    }

    /// The store has answered a probe. After an outage callers come back one after the other; `first` is for the time
    /// when there was none.
    pub(crate) fn close(&self, first: bool, now: Instant) -> bool {
        self.failures.store(0, ORDERING);
        let next = if first || self.ramp.is_zero() { CLOSED } else { self.nanos(now) };
        self.state.compare_exchange(OPEN, next, ORDERING, ORDERING).is_ok()
    }

    pub(crate) fn state(&self, now: Instant) -> State {
        match self.state.load(ORDERING) {
            CLOSED => State::Connected,
            OPEN => State::Unreachable,
            since if self.nanos(now).saturating_sub(since) >= nanos(self.ramp) => State::Connected,
            _ => State::Recovering,
        }
    }

    /// Nanoseconds since the epoch; never `OPEN`.
    fn nanos(&self, now: Instant) -> u64 {
        nanos(now.saturating_duration_since(self.epoch)).max(1)
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_failures_in_a_row_and_closes_caller_by_caller() {
        let start = Instant::now();
        let later = |millis| start + Duration::from_millis(millis);
        let breaker = Breaker::new(3, Duration::from_secs(1), start);
        let keys: Vec<Key> =
            (1..=1_000_u64).map(|n| Key::from_fingerprint(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let admitted = |now| keys.iter().filter(|&&key| breaker.admits(key, now)).count();

        assert_eq!((breaker.state(start), admitted(start)), (State::Unreachable, 0));
        assert!(breaker.close(true, start));
        assert_eq!((breaker.state(start), admitted(start)), (State::Connected, 1_000));

        breaker.failed();
        breaker.failed();
        breaker.succeeded();
        breaker.failed();
        breaker.failed();
        assert_eq!(admitted(start), 1_000);
        breaker.failed();
        assert_eq!((breaker.state(start), admitted(start)), (State::Unreachable, 0));

        assert!(breaker.close(false, later(5_000)));
        assert_eq!(breaker.state(later(5_100)), State::Recovering);
        let steps: Vec<usize> = [5_000, 5_250, 5_500, 5_750].map(|at| admitted(later(at))).into();
        assert!(steps.is_sorted() && steps[0] == 0, "{steps:?}");
        assert!((200..300).contains(&steps[1]) && (700..800).contains(&steps[3]), "{steps:?}");
        assert_eq!((admitted(later(6_000)), breaker.state(later(6_000))), (1_000, State::Connected));
        // A success of a request that was under way does not close it, nor a second probe again.
        assert!(!breaker.close(false, later(6_000)));
        assert_eq!(
            [breaker.opens(), breaker.opens(), breaker.opens(), breaker.opens()],
            [false, false, true, false]
        );
    }
}
