//! What a store does in the background: it connects, enters its node in the register, and probes during an outage.

use std::sync::atomic::Ordering;
use std::sync::{PoisonError, Weak};
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBuilder};
use redis::{ErrorKind, RedisError, RedisResult};
use tollgate::Nanos;

use crate::connection::Connection;
use crate::route::PATIENCE;
use crate::store::Inner;
use crate::time_source::{Asked, TimeSource};

/// The longest time between two probes.
const SELDOM: Duration = Duration::from_secs(2);
/// How an error is marked that is only a late answer.
const SLOW: ErrorKind = ErrorKind::Client;
/// A node is forgotten after so many heartbeats.
const FORGOTTEN: u32 = 6;

/// Runs until the store is gone.
pub(crate) async fn keep(store: Weak<Inner>) {
    let Some(inner) = store.upgrade() else { return };
    let backoff = ExponentialBuilder::new()
        .with_min_delay(inner.probe)
        .with_max_delay(SELDOM.max(inner.probe))
        .without_max_times()
        .with_jitter();
    let opened = inner.link.breaker.opened.clone();
    drop(inner);
    let (mut delays, mut first, mut told) = (backoff.build(), true, false);
    loop {
        let Some(inner) = store.upgrade() else { return };
        let pause = match inner.register().await {
            Ok(()) => {
                if inner.link.breaker.close(first, Instant::now()) && !first {
                    tracing::info!("the store of the shared budget is back");
                }
                (first, told) = (false, false);
                delays = backoff.build();
                inner.heartbeat
            }
            Err(error) => {
                // A slow answer is a failure as a decision's is; after anything else a connection is made anew.
                if error.kind() != SLOW {
                    inner.link.connection.store(None);
                }
                if (inner.link.breaker.opens() || first) && !told {
                    tracing::warn!(%error, "the store of the shared budget can't be reached: this node decides without it");
                    told = true;
                }
                delays.next().unwrap_or(SELDOM)
            }
        };
        inner.tell();
        inner.tallies.refresh();
        drop(inner);
        if tokio::time::timeout(pause, opened.notified()).await.is_ok() {
            let Some(inner) = store.upgrade() else { return };
            // Whatever made decisions fail, a new connection is the surest way to find out whether it still does.
            inner.link.connection.store(None);
            inner.tell();
            tracing::warn!("the store of the shared budget gives no answers within {:?}", inner.link.wait);
        }
    }
}

impl Inner {
    /// Enters this node in the register, within the time that a decision has, and reads who else is there.
    async fn register(&self) -> RedisResult<()> {
        let mut connection = match tokio::time::timeout(2 * PATIENCE, self.link.connected()).await {
            Ok(connection) => connection?,
            Err(_) => return Err(RedisError::from((ErrorKind::Io, "no connection in time"))),
        };
        // A cluster may have lost the slot of the register, and no other: all nodes go on to the same next one.
        let mut places = 0..self.link.route.registers();
        loop {
            let place = places.next().unwrap_or_default();
            match self.enter(&mut connection, &format!("{}:{{nodes-{place}}}", self.prefix)).await {
                Ok(entries) => {
                    self.registered(&entries);
                    return Ok(());
                }
                Err(error) if places.is_empty() => return Err(error),
                Err(_) => {}
            }
        }
    }

    async fn enter(&self, connection: &mut Connection, register: &str) -> RedisResult<Vec<String>> {
        let entry = format!("{} {}", self.seed, self.node);
        let lasts = self.heartbeat.saturating_mul(FORGOTTEN).as_secs().max(1);
        loop {
            let asked = match self.link.source {
                TimeSource::Caller => Asked::system(),
                TimeSource::Server | TimeSource::Node => self.link.asked(Nanos::ZERO),
            };
            let mut invocation = self.link.scripts.register.prepare_invoke();
            invocation.key(register).arg(asked.high).arg(asked.low).arg(&entry).arg(lasts);
            let began = Instant::now();
            match invocation.invoke_async(connection).await {
                Err(error) if asked == Asked::SERVER && self.link.forbids_time(&error) => {}
                Ok(_) if began.elapsed() > self.link.wait => {
                    return Err(RedisError::from((SLOW, "an answer took longer than a decision waits")));
                }
                result => return result,
            }
        }
    }

    /// Takes note of the nodes that share this one's seed and prefix, and names those that share only the prefix.
    fn registered(&self, entries: &[String]) {
        let entries = entries.iter().filter_map(|entry| entry.split_once(' '));
        let (ours, others): (Vec<_>, Vec<_>) = entries.partition(|(seed, _)| *seed == self.seed);
        let ours = u32::try_from(ours.len()).unwrap_or(u32::MAX);
        // ORDERING: a number by itself.
        let before = self.seen.swap(ours, Ordering::Relaxed);
        if ours > self.nodes && ours != before {
            tracing::warn!(
                "{ours} nodes share this budget and {} were configured: in an outage more than the limit passes; raise \
                 nodes()",
                self.nodes
            );
        }
        let others: Vec<String> = others.into_iter().map(|(_, name)| name.to_owned()).collect();
        self.tallies.foreign.set(u32::try_from(others.len()).unwrap_or(u32::MAX));
        let mut foreign = self.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        if !others.is_empty() && *foreign != others {
            tracing::error!(
                "nodes {others:?} use the prefix {:?} with another seed, so they have budgets of their own: give all \
                 nodes one seed, or another prefix",
                self.prefix
            );
        }
        *foreign = others;
    }
}
