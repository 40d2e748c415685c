use tollgate::{BuildError, CredentialError, OriginError};

use crate::credential::LONGEST_HEADER_NAME;
use crate::gate::MOST_CLASSES;
use crate::policy::{LONGEST_POLICY_NAME, MOST_POLICIES};

/// Why a gate can't be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// A policy's or class's quota or capacity can't be had.
    #[error("the policy {policy:?}: {error}")]
    Limiter {
        /// Its name.
        policy: String,
        /// What is wrong.
        error: BuildError,
    },
    /// The limit of requests under way can't be had.
    #[error("the limit of requests under way: {0}")]
    InFlight(BuildError),
    /// The penalty can't be had.
    #[error("the penalty: {0}")]
    Penalty(BuildError),
    /// The shared store can't keep the budgets.
    #[error("the shared store: {reason}")]
    Shared {
        /// What is wrong and what to do.
        reason: String,
    },
    /// The gate's keyer is not the store's.
    #[error(
        "the gate's keyer has another seed than the shared store's, so that other nodes would not find its budgets: leave \
         .keyer(..) out, the store's is used"
    )]
    TwoSeeds,
    /// The first policy is for everyone.
    #[error("a gate's first policy is for each caller: add the one for everyone with .policy(..)")]
    FirstForEveryone,
    /// Callers' addresses can't be found as configured.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// A network can't be trusted.
    #[error("the trusted network {network:?}: {error}")]
    Network {
        /// What was given.
        network: String,
        /// What is wrong.
        error: OriginError,
    },
    /// The name of the field with callers' addresses is none.
    #[error(
        "{name:?} can't be the field with callers' addresses: use a header's name such as cf-connecting-ip"
    )]
    SourceName {
        /// What was given.
        name: String,
    },
    /// More policies than a gate has room for.
    #[error("{count} policies: a gate has room for {MOST_POLICIES}, its own quota included")]
    TooManyPolicies {
        /// How many there are.
        count: usize,
    },
    /// More classes than a gate has room for.
    #[error("{count} classes: a gate has room for {MOST_CLASSES}")]
    TooManyClasses {
        /// How many there are.
        count: usize,
    },
    /// A secret can't be sent as a bearer token.
    #[error(
        "a secret can't stand after Bearer, which carries letters, digits and -._~+/ alone: take such a one, for \
         example `openssl rand -hex 32`"
    )]
    BearerSecret,
    /// Two policies have one name.
    #[error(
        "two policies are called {name:?}: give each a name of its own, since responses tell them apart by it"
    )]
    SameName {
        /// The name.
        name: String,
    },
    /// A service's secret or its name can't be used.
    #[error("service {service:?}: {error}")]
    Secret {
        /// The service's name.
        service: String,
        /// What is wrong.
        error: CredentialError,
    },
    /// A service's secret has bytes that no header can carry.
    #[error(
        "service {service:?}: the secret has control characters, which no header can carry: use printable ones, for \
         example `openssl rand -hex 32`"
    )]
    SecretBytes {
        /// The service's name.
        service: String,
    },
    /// The name of the credential's header is none.
    #[error(
        "{name:?} can't be the credential's header: use a name of letters, digits and hyphens, at most \
         {LONGEST_HEADER_NAME} of them, such as x-internal-token"
    )]
    HeaderName {
        /// What was given.
        name: String,
    },
    /// No path begins so, or each does.
    #[error(
        "{prefix:?} can't be the begin of internal routes: write it as paths are written, with a slash, such as /internal/"
    )]
    InternalRoute {
        /// What was given.
        prefix: String,
    },
    /// The policy's name can't stand in a response.
    #[error(
        "{name:?} can't be a policy's name: use 1 to {LONGEST_POLICY_NAME} printable ASCII characters other than \
         quotes and backslashes, such as default"
    )]
    PolicyName {
        /// What was given.
        name: String,
    },
}
