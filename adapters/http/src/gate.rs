use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tollgate::{
    BoxedInFlight, BoxedLimiter, BoxedPenalty, Credentials, Keyer, Origin, Origins, Prefixes, Presented,
    Quota,
};

use crate::answer::{Answer, Wording};
use crate::clock::{Clock, Ticker};
use crate::credential::{CredentialField, MOST_SECRETS, Scheme};
use crate::decision::{Decision, Identity, NoPeer, ServiceName};
use crate::fields::Styles;
use crate::instruments::Instruments;
use crate::mode::{Mode, ModeCell};
use crate::name::FieldName;
use crate::notices::Notices;
use crate::request::{RequestFields, may_have};
use crate::seldom::Seldom;
use crate::shared::SharedBudgets;
use crate::source::Source;
use crate::terms::Plan;
use crate::tier::Texts;
use crate::tiers::Tiers;
use crate::upkeep::Upkeep;
use crate::watching::Watching;

/// Decides requests and words the answers. Build one in one small function, share it by `Arc`.
///
/// Whoever holds the same gate shares its budgets: clones of a layer, workers, connections, several apps.
///
/// # Order
/// 1. The credential is checked. A service's own secret makes the request exempt.
/// 2. Otherwise the caller's address, cut to its network, is charged; a forged credential changes nothing.
///
/// # Security
/// The caller is the socket's peer, and no header can change that, unless a [`Source`] and whom to trust are set.
/// Behind a proxy that is not trusted the peer is the proxy, and all its callers share one budget.
// In this order, so that what every request reads is in neighbouring lines of memory: between two of them, a processor that
// serves requests has forgotten them all; and not in the line of an `Arc`'s counts, which every request writes.
#[repr(C, align(128))]
pub struct Gate {
    pub(crate) mode: ModeCell,
    /// Whether there is one policy and nothing beside it that a request must pass.
    pub(crate) has_one_table: bool,
    pub(crate) strips_credential: bool,
    pub(crate) refunds_inner_refusals: bool,
    pub(crate) styles: Styles,
    /// The lengths that [`origins`](Self::origins) cuts to.
    pub(crate) prefixes: Prefixes,
    /// Tells the decisions of this gate from another's.
    pub(crate) id: usize,
    pub(crate) keyer: Keyer,
    /// The table of the first policy; if the budgets are shared, one for nobody that counts requests of own services.
    pub(crate) table: Arc<Upkeep<BoxedLimiter>>,
    pub(crate) charge_if: Option<ChargeIf>,
    pub(crate) ticker: Ticker,
    pub(crate) notices: Notices,
    /// The source's field.
    pub(crate) source_field: Option<FieldName>,
    pub(crate) field: CredentialField,
    pub(crate) tiers: Tiers,
    pub(crate) texts: Seldom<Texts>,
    pub(crate) instruments: Option<Instruments>,
    pub(crate) watching: Option<Watching>,
    pub(crate) origins: Box<Origins<MOST_NETWORKS>>,
    pub(crate) source: Source,
    pub(crate) credentials: Box<Credentials<MOST_SECRETS>>,
    /// Their names.
    pub(crate) services: Vec<ServiceName>,
    pub(crate) challenge: String,
    /// Where the policies' budgets and then those of the classes are, if other nodes share them.
    pub(crate) shared: Option<Arc<dyn SharedBudgets>>,
    /// Held while a quota is changed.
    pub(crate) changing: Mutex<()>,
    pub(crate) in_flight: Option<BoxedInFlight>,
    pub(crate) most_in_flight: Option<u32>,
    pub(crate) penalty: Option<Arc<Upkeep<BoxedPenalty>>>,
    pub(crate) responder: Option<Responder>,
    pub(crate) wording: Wording,
}

/// Whether a response with this status is charged.
pub(crate) type ChargeIf = Box<dyn Fn(u16) -> bool + Send + Sync>;

/// Makes of a refusal what is sent in its place.
pub(crate) type Responder = Box<dyn Fn(Answer, &Decision) -> Answer + Send + Sync>;

/// The most classes of callers that a gate has.
pub const MOST_CLASSES: usize = 16;

/// The most networks that are trusted.
pub const MOST_NETWORKS: usize = 128;

impl Gate {
    /// Decides one request on ordinary terms and counts it, unless it is exempt.
    ///
    /// `peer` is the socket's peer address. Of the request's fields the credential's is looked at, and the one in
    /// which callers' addresses are found.
    ///
    /// No lock is taken, and nothing is allocated but the decision, which its clones share, and the list of where the caller
    /// stands with several policies. A sweep of the table, due every few days, runs in a thread of its own.
    ///
    /// A [shared](crate::GateBuilder::shared) gate refuses what its node can't decide without asking the store, for
    /// [`Reason::Unreachable`](crate::Reason::Unreachable), and says so in the log: use [`decide_shared`](Self::decide_shared).
    ///
    /// # Errors
    /// If the request must be counted and its peer is not known: answer with [`no_peer`](Self::no_peer). An exempt
    /// request needs no peer. In [`Mode::Shadow`] the request passes uncounted, and [`Decision::lacks_peer`] says so, for
    /// the log.
    pub fn decide(
        &self,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<Decision, NoPeer> {
        self.decide_by(&Plan::ORDINARY, peer, fields)
    }

    /// The same, where the store of a [shared](crate::GateBuilder::shared) gate is asked if it must be; any other gate
    /// decides at once.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    pub async fn decide_shared(
        self: &Arc<Self>,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<Decision, NoPeer> {
        self.terms().decide_shared(peer, fields).await
    }

    /// Who calls: the socket's peer, or whom the proxies that are trusted name.
    ///
    /// # Security
    /// See [`Origins::origin`].
    #[inline]
    pub fn origin(&self, peer: IpAddr, fields: &(impl RequestFields + ?Sized)) -> Origin {
        match &self.source_field {
            Some(name) => self.origins.origin(peer, fields.named(name)),
            None => Origin::peer(peer).at(self.prefixes),
        }
    }

    /// Whom the request's credential names. Nothing is counted.
    pub fn identify(&self, fields: &(impl RequestFields + ?Sized)) -> Identity {
        self.identity(self.verify(fields))
    }

    /// The service that may pass to an internal route; if none, answer with [`unauthorized`](Self::unauthorized).
    ///
    /// If this gate has decided the request already, its `decision` is heeded and nothing is compared again.
    pub fn internal(
        &self,
        decision: Option<&Decision>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Option<ServiceName> {
        let identity = match decision {
            Some(decision) if decision.0.gate == self.id => decision.0.identity.clone(),
            Some(_) | None => self.identify(fields),
        };
        match identity {
            Identity::Service(name) => Some(name),
            Identity::Absent | Identity::Forged => None,
        }
    }

    /// The name of the field that carries a service's secret, in lower case. Only this exact name counts.
    pub fn credential_header(&self) -> &str {
        self.field.name.as_str()
    }

    /// The quota that each caller is held to, the builder's.
    pub fn quota(&self) -> Quota {
        self.texts.load().quotas.first().copied().unwrap_or(self.limiter().quota())
    }

    /// Where callers' addresses are found.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The clock that is read, which for a fast quota is the precise one whatever was asked for.
    pub fn clock(&self) -> &Clock {
        self.ticker.clock()
    }

    /// What is done with the verdicts.
    pub fn mode(&self) -> Mode {
        self.mode.load()
    }

    /// Whether the credential's field is to be taken from the request before the application sees it: see
    /// [`GateBuilder::strip_credential`](crate::GateBuilder::strip_credential).
    pub fn strips_credential(&self, decision: &Decision) -> bool {
        let is_ours = self.field.scheme == Scheme::Whole || decision.identity().service().is_some();
        self.strips_credential && is_ours
    }

    /// The table of the builder's quota: its capacity, its counts. Of a [shared](crate::GateBuilder::shared) gate it counts
    /// requests of own services alone.
    pub fn limiter(&self) -> &BoxedLimiter {
        self.table.limiter()
    }

    #[inline]
    pub(crate) fn verify(&self, fields: &(impl RequestFields + ?Sized)) -> Presented {
        if self.may_present(fields) {
            self.credentials.verify(self.field.presented(fields.named(&self.field.name)))
        } else {
            Presented::Absent
        }
    }

    /// Whether a request may carry a credential, of ours or not.
    #[inline]
    pub(crate) fn may_present(&self, fields: &(impl RequestFields + ?Sized)) -> bool {
        may_have(fields, &self.field.name)
    }

    /// The class of this name.
    pub(crate) fn class(&self, name: &str) -> Option<u8> {
        let index = self.tiers.classes.iter().position(|class| class.name == name)?;
        u8::try_from(index).ok()
    }

    pub(crate) fn identity(&self, presented: Presented) -> Identity {
        match presented {
            Presented::Absent => Identity::Absent,
            Presented::Forged => Identity::Forged,
            Presented::Service(service) => {
                let name = self.credentials.name(service);
                let ready = self.services.iter().find(|service| service.as_str() == name);
                Identity::Service(ready.cloned().unwrap_or_else(|| ServiceName::new(name)))
            }
        }
    }
}

/// Whether some gate of this process takes credentials from requests, so that there is more to look at than their fields.
static ANY_STRIPS: AtomicBool = AtomicBool::new(false);

impl Gate {
    /// Before a gate that is built so decides.
    pub(crate) fn begin_to_strip() {
        // ORDERING: whoever has a request that the gate has seen has seen this too; here and below.
        ANY_STRIPS.store(true, Ordering::Relaxed);
    }

    /// Whether a request may have had a credential that an outer gate has taken from it.
    #[doc(hidden)]
    #[inline]
    pub fn any_strips() -> bool {
        ANY_STRIPS.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("policies", &self.tiers.all().map(|tier| &tier.name).collect::<Vec<_>>())
            .field("source", &self.source)
            .field("limiter", self.limiter())
            .field("credential_header", &self.credential_header())
            .field("secrets", &self.credentials.len())
            .field("clock", self.clock())
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}
