use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_limitation::Limiter as ActixLimitation;
use redis::aio::MultiplexedConnection;
use redis::{Client, Script};
use tollgate::{Keyer, Nanos, Quota};
use tollgate_redis::{Server, SharedLimiter, Store};

/// So many nodes share each limit.
pub(crate) const NODES: usize = 3;

const KEYER: Keyer = Keyer::new(*b"a seed for bench");

/// A limiter of three nodes.
pub(crate) enum Subject {
    Ours(Vec<SharedLimiter>, Instant),
    /// One connection of each node, and a script that counts and sets an expiry.
    Incr(Vec<MultiplexedConnection>, Box<Script>, AtomicU64),
    ActixLimitation(Vec<ActixLimitation>, AtomicU64),
}

impl Subject {
    pub(crate) async fn leases(address: &str, name: &str, limit: u32) -> Result<Self, Box<dyn Error>> {
        Self::ours(address, name, limit, false).await
    }

    pub(crate) async fn strict(address: &str, name: &str, limit: u32) -> Result<Self, Box<dyn Error>> {
        Self::ours(address, name, limit, true).await
    }

    async fn ours(address: &str, name: &str, limit: u32, strict: bool) -> Result<Self, Box<dyn Error>> {
        let mut limiters = Vec::new();
        for _ in 0..NODES {
            let nodes = u32::try_from(NODES)?;
            // On a loaded machine a decision may take longer than 20 ms, and is to be the store's all the same.
            let store = Store::builder(Server::single(address), &KEYER)
                .prefix(format!("{name}{strict}"))
                .nodes(nodes)
                .wait(Duration::from_secs(10))
                .build()?;
            store.connected().await;
            let limiter = store.limiter(name, Quota::per_hour(limit)).capacity(1 << 18);
            limiters.push(if strict { limiter.strict().build()? } else { limiter.build()? });
        }
        Ok(Self::Ours(limiters, Instant::now()))
    }

    pub(crate) async fn incr(address: &str) -> Result<Self, Box<dyn Error>> {
        let client = Client::open(address)?;
        let mut connections = Vec::new();
        for _ in 0..NODES {
            connections.push(client.get_multiplexed_async_connection().await?);
        }
        let script = Script::new(
            "local count = redis.call('INCR', KEYS[1]) \
             if count == 1 then redis.call('EXPIRE', KEYS[1], 3600) end return count",
        );
        Ok(Self::Incr(connections, Box::new(script), AtomicU64::new(0)))
    }

    pub(crate) fn actix_limitation(address: &str, limit: u32) -> Result<Self, Box<dyn Error>> {
        let limit = usize::try_from(limit)?;
        let build = || ActixLimitation::builder(address).limit(limit).period(Duration::from_hours(1)).build();
        let limiters = (0..NODES).map(|_| build()).collect::<Result<_, _>>()?;
        Ok(Self::ActixLimitation(limiters, AtomicU64::new(0)))
    }

    /// Whether a request passes.
    pub(crate) async fn decide(&self, node: usize, caller: u64) -> bool {
        match self {
            Self::Ours(limiters, began) => {
                let now = Nanos::from_duration(began.elapsed());
                let Some(limiter) = limiters.get(node) else { return false };
                let key = KEYER.bytes(&caller.to_le_bytes());
                match limiter.try_check(key, 1, now) {
                    Some(verdict) => verdict.passes(),
                    None => limiter.check(key, 1, now).await.passes(),
                }
            }
            Self::Incr(connections, script, trips) => {
                // ORDERING: a count, read when all is done.
                trips.fetch_add(1, Ordering::Relaxed);
                let Some(mut connection) = connections.get(node).cloned() else { return false };
                let mut invocation = script.prepare_invoke();
                invocation.key(format!("incr:{caller}"));
                let count: redis::RedisResult<u64> = invocation.invoke_async(&mut connection).await;
                count.is_ok()
            }
            Self::ActixLimitation(limiters, trips) => {
                // ORDERING: as above.
                trips.fetch_add(1, Ordering::Relaxed);
                let Some(limiter) = limiters.get(node) else { return false };
                limiter.count(format!("actix:{caller}")).await.is_ok()
            }
        }
    }

    /// Round trips so far.
    pub(crate) fn trips(&self) -> u64 {
        match self {
            Self::Ours(limiters, _) => {
                limiters.iter().map(|limiter| limiter.store().counts().round_trips).sum()
            }
            // ORDERING: as above.
            Self::Incr(_, _, trips) | Self::ActixLimitation(_, trips) => trips.load(Ordering::Relaxed),
        }
    }

    /// Credit that nodes were lent and have not spent.
    pub(crate) fn unspent(&self) -> u64 {
        match self {
            Self::Ours(limiters, _) => {
                limiters.iter().map(|limiter| limiter.store().counts().unspent()).sum()
            }
            _ => 0,
        }
    }
}
