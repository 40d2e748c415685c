use std::fmt;

use redis::{Client, ConnectionInfo, IntoConnectionInfo};

use crate::error::StoreError;
use crate::route::Route;

/// Where the shared budget is kept.
///
/// An address is written as `redis://user:password@host:6379/0`, with an ACL user and a database where there are any;
/// with the feature `tls`, `rediss://` encrypts. On Unix `redis+unix:///run/redis.sock` is one too.
///
/// ```
/// use tollgate_redis::Server;
/// let one = Server::single("redis://limits:secret@10.0.0.5:6379/2");
/// assert_eq!(format!("{one:?}"), "Server { kind: Single, .. }");
/// ```
#[derive(Clone)]
pub struct Server {
    kind: Kind,
    addresses: Vec<String>,
    user: Option<(String, String)>,
    database: Option<i64>,
    #[cfg(feature = "tls")]
    certificates: Option<redis::TlsCertificates>,
}

#[derive(Clone, Debug)]
enum Kind {
    Single,
    #[cfg(feature = "cluster")]
    Cluster,
    #[cfg(feature = "sentinel")]
    Sentinel {
        master: String,
    },
}

impl Server {
    /// One server, or a name behind which there is always one that may be written to.
    pub fn single(address: impl Into<String>) -> Self {
        Self::new(Kind::Single, [address])
    }

    /// A Redis Cluster, of which some nodes are named. All they are asked for one decision is in one slot, so budgets are
    /// spread over the cluster by caller.
    #[cfg(feature = "cluster")]
    pub fn cluster(addresses: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new(Kind::Cluster, addresses)
    }

    /// The server that Sentinel calls the master of the name `master`. The addresses are the sentinels'; how the master is
    /// spoken to is said by [`user`](Self::user) and [`database`](Self::database), and encrypted if the sentinels are.
    #[cfg(feature = "sentinel")]
    pub fn sentinel(
        addresses: impl IntoIterator<Item = impl Into<String>>,
        master: impl Into<String>,
    ) -> Self {
        Self::new(Kind::Sentinel { master: master.into() }, addresses)
    }

    /// An ACL user and its password, in place of the addresses'.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.user = Some((name.into(), password.into()));
        self
    }

    /// The database's number, in place of the addresses'. The default is 0.
    #[must_use]
    pub fn database(mut self, number: i64) -> Self {
        self.database = Some(number);
        self
    }

    /// The root certificate to trust in place of the system's, and a certificate of our own.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn certificates(mut self, certificates: redis::TlsCertificates) -> Self {
        self.certificates = Some(certificates);
        self
    }

    fn new(kind: Kind, addresses: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            kind,
            addresses: addresses.into_iter().map(Into::into).collect(),
            user: None,
            database: None,
            #[cfg(feature = "tls")]
            certificates: None,
        }
    }

    /// Checks the description; nothing is connected.
    pub(crate) fn route(&self) -> Result<Route, StoreError> {
        #[cfg(feature = "tls")]
        provide();
        let addresses =
            self.addresses.iter().map(|address| self.address(address)).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = addresses.first() else { return Err(StoreError::NoServer) };
        match &self.kind {
            Kind::Single => Ok(Route::Single(self.client(first.clone())?)),
            #[cfg(feature = "cluster")]
            Kind::Cluster => self.cluster_of(addresses),
            #[cfg(feature = "sentinel")]
            Kind::Sentinel { master } => self.sentinel_of(&addresses, master),
        }
    }

    /// An address with what was said apart from it. A sentinel is no database.
    fn address(&self, address: &str) -> Result<ConnectionInfo, StoreError> {
        let info = address.into_connection_info()?;
        #[cfg(feature = "sentinel")]
        if matches!(self.kind, Kind::Sentinel { .. }) {
            return Ok(info);
        }
        let mut redis = info.redis_settings().clone();
        if let Some((name, password)) = &self.user {
            redis = redis.set_username(name).set_password(password);
        }
        if let Some(database) = self.database {
            redis = redis.set_db(database);
        }
        Ok(info.set_redis_settings(redis))
    }

    #[cfg_attr(
        not(feature = "tls"),
        expect(clippy::unused_self, reason = "with the feature tls it holds certificates")
    )]
    fn client(&self, info: ConnectionInfo) -> Result<Client, StoreError> {
        #[cfg(feature = "tls")]
        if let Some(certificates) = &self.certificates {
            return Ok(Client::build_with_tls(info, certificates.clone())?);
        }
        Ok(Client::open(info)?)
    }

    #[cfg(feature = "cluster")]
    fn cluster_of(&self, addresses: Vec<ConnectionInfo>) -> Result<Route, StoreError> {
        use crate::route::PATIENCE;
        let builder = redis::cluster::ClusterClient::builder(addresses)
            .connection_timeout(PATIENCE)
            .response_timeout(PATIENCE)
            .retries(1);
        #[cfg(feature = "tls")]
        let builder = match &self.certificates {
            Some(certificates) => builder.certs(certificates.clone()),
            None => builder,
        };
        Ok(Route::Cluster(builder.build()?))
    }

    #[cfg(feature = "sentinel")]
    fn sentinel_of(&self, addresses: &[ConnectionInfo], master: &str) -> Result<Route, StoreError> {
        use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
        let addresses_only = addresses.iter().map(|info| info.addr().clone());
        let mut builder = SentinelClientBuilder::new(addresses_only, master, SentinelServerType::Master)?;
        if let Some(sentinel) = addresses.first().map(ConnectionInfo::redis_settings) {
            if let Some(name) = sentinel.username() {
                builder = builder.set_client_to_sentinel_username(name);
            }
            if let Some(password) = sentinel.password() {
                builder = builder.set_client_to_sentinel_password(password);
            }
        }
        if let Some((name, password)) = &self.user {
            builder = builder.set_client_to_redis_username(name).set_client_to_redis_password(password);
        }
        if let Some(database) = self.database {
            builder = builder.set_client_to_redis_db(database);
        }
        #[cfg(feature = "tls")]
        {
            if addresses.iter().any(|info| matches!(info.addr(), redis::ConnectionAddr::TcpTls { .. })) {
                builder = builder
                    .set_client_to_redis_tls_mode(redis::TlsMode::Secure)
                    .set_client_to_sentinel_tls_mode(redis::TlsMode::Secure);
            }
            if let Some(certificates) = &self.certificates {
                builder = builder
                    .set_client_to_redis_certificates(certificates.clone())
                    .set_client_to_sentinel_certificates(certificates.clone());
            }
        }
        Ok(Route::Sentinel(tokio::sync::Mutex::new(builder.build()?)))
    }
}

impl fmt::Debug for Server {
    /// Addresses may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Chooses rustls' cryptography, unless the program has: without a choice rustls panics where two crates bring one each.
#[cfg(feature = "tls")]
fn provide() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // If another thread was faster, there is one.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
}
