use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use tollgate::{BoxedLimiter, Credentials, Keyer, Origin, Presented, Quota, Verdict};

use crate::answer::{Answer, Wording};
use crate::clock::{Clock, Ticker};
use crate::credential::{CredentialField, MOST_SECRETS};
use crate::decision::{Decision, Identity, NoPeer, ServiceName};
use crate::fields::Fields;
use crate::mode::Mode;
use crate::policy::Policy;
use crate::upkeep::Upkeep;

/// Decides requests and words the answers. Build one in one small function, share it by `Arc`.
///
/// Whoever holds the same gate shares its budgets: clones of a layer, workers, connections, several apps.
///
/// # Order
/// 1. The credential is checked. A service's own secret makes the request exempt.
/// 2. Otherwise the peer's address, cut to its network, is charged; a forged credential changes nothing.
///
/// # Security
/// The caller is the socket's peer, and no header can change that. Behind a proxy the peer is the proxy, and all its
/// callers share one budget.
pub struct Gate {
    pub(crate) upkeep: Arc<Upkeep>,
    pub(crate) credentials: Box<Credentials<MOST_SECRETS>>,
    pub(crate) field: CredentialField,
    pub(crate) challenge: String,
    pub(crate) keyer: Keyer,
    pub(crate) ticker: Ticker,
    pub(crate) mode: Mode,
    pub(crate) policy: Policy,
    pub(crate) wording: Wording,
    /// Tells the decisions of this gate from another's.
    pub(crate) id: usize,
}

impl Gate {
    /// Decides one request and counts it, unless it is exempt.
    ///
    /// `peer` is the socket's peer address, and `credential` the values of all lines of the field
    /// [`credential_header`](Self::credential_header).
    ///
    /// Nothing is allocated and no lock is taken, but for a sweep of the table that is due every few days and runs
    /// in a thread of its own.
    ///
    /// # Errors
    /// If the request must be counted and its peer is not known: answer with [`Answer::no_peer`] and log what to
    /// change. An exempt request needs no peer. In [`Mode::Shadow`] the request passes uncounted, and
    /// [`Decision::lacks_peer`] says so, for the log.
    ///
    /// # Security
    /// Pass every line of the credential's field: two lines are never exempt, and one that is left out would be.
    pub fn decide<'r>(
        &self,
        peer: Option<IpAddr>,
        credential: impl IntoIterator<Item = &'r [u8]>,
    ) -> Result<Decision, NoPeer> {
        let presented = self.verify(credential);
        let origin = peer.map(Origin::peer);
        let verdict = match (self.mode, presented) {
            (Mode::Off, _) => None,
            (Mode::Enforce | Mode::Shadow, Presented::Service(service)) => Some(Verdict::Exempt(service)),
            (Mode::Enforce | Mode::Shadow, Presented::Absent | Presented::Forged) => match origin {
                Some(origin) => Some(self.count(origin, presented)),
                None if self.mode == Mode::Shadow => None,
                None => return Err(NoPeer),
            },
        };
        let identity = self.identity(presented);
        Ok(Decision {
            gate: self.id,
            identity,
            origin,
            verdict,
            enforced: self.mode == Mode::Enforce,
            shadowed: self.mode == Mode::Shadow,
        })
    }

    /// Whom the values of the credential's field name. Nothing is counted.
    pub fn identify<'r>(&self, credential: impl IntoIterator<Item = &'r [u8]>) -> Identity {
        self.identity(self.verify(credential))
    }

    /// The service that may pass to an internal route; if none, answer with [`unauthorized`](Self::unauthorized).
    ///
    /// If this gate has decided the request already, its `decision` is heeded and nothing is compared again.
    pub fn internal<'r>(
        &self,
        decision: Option<&Decision>,
        credential: impl IntoIterator<Item = &'r [u8]>,
    ) -> Option<ServiceName> {
        let identity = match decision {
            Some(decision) if decision.gate == self.id => decision.identity.clone(),
            Some(_) | None => self.identify(credential),
        };
        match identity {
            Identity::Service(name) => Some(name),
            Identity::Absent | Identity::Forged => None,
        }
    }

    /// The `401` of an internal route, with a challenge that names the credential's field.
    pub fn unauthorized(&self) -> Answer {
        Answer::unauthorized(&self.challenge)
    }

    /// The fields that a response to this request carries, whoever answers it; none if it was exempt or not counted.
    pub fn fields(&self, decision: &Decision) -> Option<Fields> {
        Fields::new(&self.policy, decision.verdict?)
    }

    /// The response to answer with, if the request does not pass.
    pub fn refusal(&self, decision: &Decision) -> Option<Answer> {
        let refusal = decision.refusal()?;
        Some(Answer::refused(&self.policy, refusal, self.fields(decision), self.wording))
    }

    /// The name of the field that carries a service's secret, in lower case. Only this exact name counts.
    pub fn credential_header(&self) -> &str {
        &self.field.name
    }

    /// The quota that each caller is held to.
    pub fn quota(&self) -> Quota {
        self.policy.quota
    }

    /// The clock that is read, which for a fast quota is the precise one whatever was asked for.
    pub fn clock(&self) -> &Clock {
        self.ticker.clock()
    }

    /// What is done with the verdicts.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The table: its capacity, its counts.
    pub fn limiter(&self) -> &BoxedLimiter {
        self.upkeep.limiter()
    }

    fn verify<'r>(&self, credential: impl IntoIterator<Item = &'r [u8]>) -> Presented {
        self.credentials.verify(self.field.presented(credential))
    }

    fn count(&self, origin: Origin, presented: Presented) -> Verdict {
        let now = self.ticker.now();
        let verdict = self.limiter().check(self.keyer.address(origin.network()), presented, now);
        // Nobody waits for the sweep.
        drop(self.upkeep.see_to_it(now));
        verdict
    }

    fn identity(&self, presented: Presented) -> Identity {
        match presented {
            Presented::Absent => Identity::Absent,
            Presented::Forged => Identity::Forged,
            Presented::Service(service) => {
                Identity::Service(ServiceName::new(self.credentials.name(service)))
            }
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("policy", &self.policy.name)
            .field("limiter", self.limiter())
            .field("credential_header", &self.credential_header())
            .field("secrets", &self.credentials.len())
            .field("clock", self.clock())
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}
