use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use tollgate::{
    AllVerdict, BoxedInFlight, BoxedLimiter, BoxedPenalty, Credentials, Key, Keyer, Limit, Origin, Origins,
    Presented, Quota, Reason, Receipt, Refusal, Verdict, check_list,
};

use crate::answer::{Answer, Wording};
use crate::clock::{Clock, Ticker};
use crate::credential::{CredentialField, MOST_SECRETS, Scheme};
use crate::decision::{By, Decision, Identity, NoPeer, Outcome, Parts, ServiceName, Standings};
use crate::fields::Styles;
use crate::instruments::Instruments;
use crate::mode::{Mode, ModeCell};
use crate::name::FieldName;
use crate::notices::Notices;
use crate::permit::Permit;
use crate::policy::MOST_POLICIES;
use crate::request::RequestFields;
use crate::source::Source;
use crate::terms::Plan;
use crate::tier::{Texts, Tier};
use crate::upkeep::Upkeep;
use crate::watching::{Caller, Watching};

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
pub struct Gate {
    /// The policies, the builder's quota first; one at least.
    pub(crate) tiers: Vec<Tier>,
    /// The table of the first.
    pub(crate) first: Arc<Upkeep<BoxedLimiter>>,
    /// Each takes the place of the first policy for the callers of a class.
    pub(crate) classes: Vec<Tier>,
    pub(crate) texts: ArcSwap<Texts>,
    /// Held while a quota is changed.
    pub(crate) changing: Mutex<()>,
    pub(crate) in_flight: Option<BoxedInFlight>,
    pub(crate) most_in_flight: Option<u32>,
    pub(crate) penalty: Option<Arc<Upkeep<BoxedPenalty>>>,
    pub(crate) charge_if: Option<ChargeIf>,
    pub(crate) refunds_inner_refusals: bool,
    pub(crate) responder: Option<Responder>,
    pub(crate) styles: Styles,
    pub(crate) origins: Box<Origins<MOST_NETWORKS>>,
    pub(crate) source: Source,
    /// The source's field.
    pub(crate) source_field: Option<FieldName>,
    pub(crate) notices: Notices,
    pub(crate) watching: Option<Watching>,
    pub(crate) instruments: Option<Instruments>,
    pub(crate) credentials: Box<Credentials<MOST_SECRETS>>,
    /// Their names.
    pub(crate) services: Vec<ServiceName>,
    pub(crate) field: CredentialField,
    pub(crate) challenge: String,
    pub(crate) keyer: Keyer,
    pub(crate) ticker: Ticker,
    pub(crate) strips_credential: bool,
    pub(crate) mode: ModeCell,
    pub(crate) wording: Wording,
    /// Tells the decisions of this gate from another's.
    pub(crate) id: usize,
}

/// Whether a response with this status is charged.
pub(crate) type ChargeIf = Box<dyn Fn(u16) -> bool + Send + Sync>;

/// Makes of a refusal what is sent in its place.
pub(crate) type Responder = Box<dyn Fn(Answer, &Decision) -> Answer + Send + Sync>;

/// Whom a request is counted by.
struct Keys {
    /// In all scopes: for penalties and requests under way.
    caller: Key,
    policies: heapless::Vec<Key, MOST_POLICIES>,
}

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
    /// # Errors
    /// If the request must be counted and its peer is not known: answer with [`no_peer`](Self::no_peer). An exempt
    /// request needs no peer. In [`Mode::Shadow`] the request passes uncounted, and [`Decision::lacks_peer`] says so, for
    /// the log.
    pub fn decide(
        &self,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<Decision, NoPeer> {
        self.decide_by(&Plan::ORDINARY, peer, fields).map(|(decision, _)| decision)
    }

    /// Decides a request and counts it.
    pub(crate) fn decide_by(
        &self,
        plan: &Plan,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<(Decision, Option<Receipt>), NoPeer> {
        self.examine(plan, peer, fields, false)
    }

    /// The same, where a request that passes is under way from now on.
    pub(crate) fn admit_by(
        self: &Arc<Self>,
        plan: &Plan,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<(Decision, Option<Permit>), NoPeer> {
        let (decision, entered) = self.examine(plan, peer, fields, true)?;
        let permit = (decision.is_counted() && decision.passes())
            .then(|| Permit::new(Arc::clone(self), decision.clone(), entered));
        Ok((decision, permit))
    }

    fn examine(
        &self,
        plan: &Plan,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
        is_entering: bool,
    ) -> Result<(Decision, Option<Receipt>), NoPeer> {
        let presented = self.verify(fields);
        let mut decision = Parts {
            gate: self.id,
            identity: self.identity(presented),
            origin: peer.map(|peer| self.origin(peer, fields)),
            outcome: Outcome::Uncounted,
            class: plan.class,
            now: self.ticker.now(),
            mode: self.mode.load(),
            lacks_peer: false,
        };
        let mut entered = None;
        match presented {
            _ if decision.mode == Mode::Off || plan.skip => {}
            Presented::Service(service) => {
                // Counts it as exempt.
                let _ = self.limiter().check(Key::from_fingerprint(0), presented, decision.now);
                decision.outcome = Outcome::Exempt(service);
            }
            Presented::Absent | Presented::Forged => match self.keys(decision.origin, plan) {
                Some(keys) => {
                    if let Some(peer) = peer {
                        self.notices.look(&self.source, &self.origins, peer, fields);
                    }
                    let in_flight = self.in_flight.as_ref().filter(|_| is_entering);
                    (decision.outcome, entered) =
                        self.count(&decision, &keys, presented, plan.cost, in_flight);
                    if let Some(watching) = &self.watching {
                        let caller = Caller { key: keys.caller, peer, is_named: plan.caller.is_some() };
                        watching.look(self, &decision, caller, presented, fields);
                    }
                }
                None if decision.mode == Mode::Shadow => decision.lacks_peer = true,
                None => return Err(NoPeer),
            },
        }
        if let Some(instruments) = &self.instruments {
            instruments.count(self, &decision);
        }
        Ok((Decision(Arc::new(decision)), entered))
    }

    /// Who calls: the socket's peer, or whom the proxies that are trusted name.
    ///
    /// # Security
    /// See [`Origins::origin`].
    pub fn origin(&self, peer: IpAddr, fields: &(impl RequestFields + ?Sized)) -> Origin {
        match &self.source_field {
            Some(name) => self.origins.origin(peer, fields.named(name)),
            None => self.origins.origin(peer, []),
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

    /// The table of the builder's quota: its capacity, its counts.
    pub fn limiter(&self) -> &BoxedLimiter {
        self.first.limiter()
    }

    fn verify(&self, fields: &(impl RequestFields + ?Sized)) -> Presented {
        self.credentials.verify(self.field.presented(fields.named(&self.field.name)))
    }

    /// The class of this name.
    pub(crate) fn class(&self, name: &str) -> Option<u8> {
        let index = self.classes.iter().position(|class| class.name == name)?;
        u8::try_from(index).ok()
    }

    /// The policies that a caller of this class is held to.
    pub(crate) fn chosen(&self, class: Option<u8>) -> impl Iterator<Item = &Tier> {
        let class = class.and_then(|class| self.classes.get(usize::from(class)));
        let first = class.or_else(|| self.tiers.first());
        first.into_iter().chain(self.tiers.iter().skip(1))
    }

    /// Whose budgets a request uses; `None` if that can't be told.
    fn keys(&self, origin: Option<Origin>, plan: &Plan) -> Option<Keys> {
        let key = |tier: &Tier| tier.key(&self.keyer, origin, plan.caller);
        // Those of classes are the same.
        let caller = key(self.tiers.first()?)?;
        let first = plan.scope.map_or(caller, |scope| {
            self.keyer.parts(&[&scope.fingerprint().to_le_bytes(), &caller.fingerprint().to_le_bytes()])
        });
        let mut policies = heapless::Vec::from_array([first]);
        for tier in self.tiers.iter().skip(1) {
            // There is room for each policy.
            policies.push(key(tier)?).ok()?;
        }
        Some(Keys { caller, policies })
    }

    /// Counts a request; if it is let in, what counts it as under way.
    fn count(
        &self,
        decision: &Parts,
        keys: &Keys,
        presented: Presented,
        cost: u32,
        in_flight: Option<&BoxedInFlight>,
    ) -> (Outcome, Option<Receipt>) {
        let now = decision.now;
        for tier in self.chosen(decision.class) {
            tier.see_to_it(now);
        }
        if let Some(penalty) = &self.penalty {
            drop(penalty.see_to_it(now));
            if let Some(out) = penalty.limiter().out(keys.caller, now) {
                return (self.out(decision, out), None);
            }
        }
        let entered = match in_flight.map(|in_flight| in_flight.enter(keys.caller, presented, now)) {
            Some(Verdict::Refused(refusal)) => {
                return (Outcome::Refused { by: By::InFlight, refusal, remaining: 0 }, None);
            }
            Some(Verdict::Admitted(standing)) => Some(standing.receipt),
            Some(Verdict::Exempt(_)) | None => None,
        };
        let outcome = self.charge(decision, keys, presented, cost);
        if let (Outcome::Refused { .. }, Some(receipt), Some(in_flight)) = (&outcome, entered, in_flight) {
            in_flight.release(receipt);
            return (outcome, None);
        }
        (outcome, entered)
    }

    fn charge(&self, decision: &Parts, keys: &Keys, presented: Presented, cost: u32) -> Outcome {
        let (now, mut chosen) = (decision.now, self.chosen(decision.class));
        let outcome = if let (&[key], Some(only)) = (&keys.policies[..], chosen.next()) {
            match only.check(key, presented, now, cost) {
                Verdict::Exempt(service) => Outcome::Exempt(service),
                Verdict::Admitted(standing) => Outcome::Admitted(Standings::One([standing])),
                Verdict::Refused(refusal) => self.refused(decision, keys, 0, refusal, cost),
            }
        } else {
            let limits =
                self.chosen(decision.class).zip(&keys.policies).map(|(tier, key)| (tier.limit(), *key));
            let limits: heapless::Vec<(&dyn Limit, Key), MOST_POLICIES> = limits.collect();
            match check_list(&limits, presented, now, cost) {
                AllVerdict::Exempt(service) => Outcome::Exempt(service),
                AllVerdict::Admitted(standings) => {
                    Outcome::Admitted(Standings::Several(Box::from(&standings[..])))
                }
                AllVerdict::Refused { by, refusal } => self.refused(decision, keys, by, refusal, cost),
            }
        };
        match (&outcome, &self.penalty) {
            (Outcome::Refused { by: By::Policy(by), refusal, .. }, Some(penalty))
                // Nobody is out for what others have used up.
                if refusal.reason == Reason::OverLimit
                    && self.chosen(decision.class).nth(*by).is_some_and(Tier::is_of_callers) =>
            {
                match penalty.limiter().strike(keys.caller, now) {
                    Some(out) => self.out(decision, out),
                    None => outcome,
                }
            }
            _ => outcome,
        }
    }

    fn refused(&self, decision: &Parts, keys: &Keys, by: usize, refusal: Refusal, cost: u32) -> Outcome {
        let mut policies = self.chosen(decision.class).zip(&keys.policies);
        let remaining = match policies.nth(by) {
            Some((tier, key)) if cost > 1 => tier.remaining(*key, decision.now),
            _ => 0,
        };
        Outcome::Refused { by: By::Policy(by), refusal, remaining }
    }

    /// The refusal of a caller that is out, in terms of its own limit.
    fn out(&self, decision: &Parts, mut out: Refusal) -> Outcome {
        out.limit = self.chosen(decision.class).next().map_or(out.limit, Tier::most);
        Outcome::Refused { by: By::Policy(0), refusal: out, remaining: 0 }
    }

    fn identity(&self, presented: Presented) -> Identity {
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

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field(
                "policies",
                &self.tiers.iter().chain(&self.classes).map(|tier| &tier.name).collect::<Vec<_>>(),
            )
            .field("source", &self.source)
            .field("limiter", self.limiter())
            .field("credential_header", &self.credential_header())
            .field("secrets", &self.credentials.len())
            .field("clock", self.clock())
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}
