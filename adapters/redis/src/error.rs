use tollgate::BuildError;

/// Why a store or a limiter can't be built. That a server can't be reached is no such error: see
/// [`Outage`](crate::Outage).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An address can't be used as it is written.
    #[error(
        "the server's address can't be used ({0}): write redis://user:password@host:6379/0, or rediss:// with the \
         feature tls"
    )]
    Address(#[from] redis::RedisError),
    /// No address was given.
    #[error("no server is named: give the address of one at least")]
    NoServer,
    /// Nothing can be asked without tokio.
    #[error("a store needs tokio: build it inside a runtime, for example in main under #[tokio::main]")]
    NoRuntime,
    /// A prefix or a name would make keys ambiguous.
    #[error(
        "{0:?} can't be part of a key: use letters, digits, '-', '_' and '.', at least one and at most 64"
    )]
    Name(String),
    /// A time of zero.
    #[error("the time for {0} is zero: leave its default")]
    NoTime(&'static str),
    /// The limiter itself can't be built.
    #[error(transparent)]
    Limiter(#[from] BuildError),
    /// Limits that are decided together are in different stores.
    #[error("limits that are decided in one step must be of one store: build them from the same one")]
    TwoStores,
}
