use std::time::Duration;

use redis::{AsyncConnectionConfig, Client, RedisResult};

use crate::connection::Connection;

/// How to get a connection to the server that may be written to.
pub(crate) enum Route {
    Single(Client),
    #[cfg(feature = "cluster")]
    Cluster(redis::cluster::ClusterClient),
    #[cfg(feature = "sentinel")]
    Sentinel(tokio::sync::Mutex<redis::sentinel::SentinelClient>),
}

/// How long a connection, or an answer that nobody waits for any more, may take: what comes later than a decision's
/// deadline is still worth having, for what it charged.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

impl Route {
    /// Whether all keys are on one server.
    pub(crate) fn has_one_server(&self) -> bool {
        match self {
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => false,
            _ => true,
        }
    }

    /// In how many places the nodes' register may be: more than one only where one may be lost by itself.
    pub(crate) fn registers(&self) -> u32 {
        match self {
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => 4,
            _ => 1,
        }
    }

    pub(crate) async fn connect(&self) -> RedisResult<Connection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        match self {
            Self::Single(client) => {
                client.get_multiplexed_async_connection_with_config(&config).await.map(Connection::Single)
            }
            #[cfg(feature = "cluster")]
            Self::Cluster(client) => client.get_async_connection().await.map(Connection::Cluster),
            #[cfg(feature = "sentinel")]
            Self::Sentinel(client) => {
                // The sentinels are asked each time, so after a failover this is another server.
                client.lock().await.get_async_connection_with_config(&config).await.map(Connection::Single)
            }
        }
    }
}
