use tollgate::{BuildError, CredentialError};

use crate::credential::LONGEST_HEADER_NAME;
use crate::policy::LONGEST_POLICY_NAME;

/// Why a gate can't be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// The quota or the capacity can't be had.
    #[error(transparent)]
    Limiter(#[from] BuildError),
    /// The quota is not of a fixed window.
    #[error(
        "a gate holds callers to a fixed window, which is what its responses describe: use Quota::per_minute(300) or \
         its like without .sliding(), .burst() and at_most()"
    )]
    QuotaKind,
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
