//! What is decided about a request, from its fields to a decision.

use std::net::IpAddr;
use std::sync::Arc;

use tollgate::{Key, Nanos, Presented, Reason, Receipt, Refusal};

use crate::counting::Counted;
use crate::decision::{Decision, NoPeer, Outcome, Parts};
use crate::gate::Gate;
use crate::mode::Mode;
use crate::notices::tell_without_waiting;
use crate::pending::{Pending, Unknown};
use crate::permit::{Permit, UnderWay};
use crate::refunds::Refunds;
use crate::request::RequestFields;
use crate::shared::SharedVerdict;
use crate::terms::Plan;
use crate::watching::Caller;

/// What examining a request comes to.
pub(crate) enum Examined {
    /// A decision; and if the request is let in, what counts it as under way.
    Decided(Decision, Option<Box<Receipt>>),
    /// The store has to be asked.
    Unknown(Box<Unknown>),
}

/// A request that comes to a gate.
pub(crate) enum Admission {
    /// It passes, and has a permit if it was counted; or it does not.
    Decided(Decision, Option<Permit>),
    /// It waits.
    Pending(Pending),
}

impl Gate {
    /// Decides a request and counts it.
    pub(crate) fn decide_by(
        &self,
        plan: &Plan,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<Decision, NoPeer> {
        match self.examine(plan, self.verify(fields), peer, fields, false)? {
            Examined::Decided(decision, _) => Ok(decision),
            Examined::Unknown(unknown) => Ok(self.without_waiting(*unknown, fields)),
        }
    }

    /// The same, where a request that passes is under way from now on.
    pub(crate) fn admit_by(
        self: &Arc<Self>,
        plan: &Plan,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<(Decision, Option<Permit>), NoPeer> {
        Ok(match self.examine(plan, self.verify(fields), peer, fields, true)? {
            Examined::Decided(decision, entered) => self.permitted(decision, entered),
            Examined::Unknown(mut unknown) => {
                // If it passes in shadow mode it is counted nowhere.
                drop(UnderWay::new(Arc::clone(self), unknown.entered.take()));
                self.permitted(self.without_waiting(*unknown, fields), None)
            }
        })
    }

    /// The same, where the store may be asked, of a request whose credential has been looked at.
    pub(crate) fn begin_by(
        self: &Arc<Self>,
        plan: &Plan,
        presented: Presented,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<Admission, NoPeer> {
        Ok(match self.examine(plan, presented, peer, fields, true)? {
            Examined::Decided(decision, entered) => {
                let (decision, permit) = self.permitted(decision, entered);
                Admission::Decided(decision, permit)
            }
            Examined::Unknown(unknown) => Admission::Pending(Pending::new(self, unknown)),
        })
    }

    /// A request that was counted and passes has a permit.
    #[inline]
    fn permitted(
        self: &Arc<Self>,
        decision: Decision,
        entered: Option<Box<Receipt>>,
    ) -> (Decision, Option<Permit>) {
        let is_counted = decision.is_counted() && decision.passes();
        let permit =
            is_counted.then(|| Permit::new(UnderWay::new(Arc::clone(self), entered), decision.clone()));
        (decision, permit)
    }

    /// Looks at a request, and counts it if this node can.
    #[inline]
    pub(crate) fn examine(
        &self,
        plan: &Plan,
        presented: Presented,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
        is_entering: bool,
    ) -> Result<Examined, NoPeer> {
        if plan.is_ordinary()
            && let Some(peer) = peer
            && let Some(decision) = self.decide_straight(presented, &peer, fields)
        {
            return Ok(Examined::Decided(decision, None));
        }
        self.examine_all(plan, presented, peer, fields, is_entering)
    }

    /// The same for any gate and any request.
    #[inline(never)]
    pub(crate) fn examine_all(
        &self,
        plan: &Plan,
        presented: Presented,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
        is_entering: bool,
    ) -> Result<Examined, NoPeer> {
        let mut decision = Parts {
            gate: self.id,
            identity: self.identity(presented),
            origin: peer.map(|peer| self.origin(peer, fields)),
            outcome: Outcome::Uncounted,
            class: plan.class,
            now: self.ticker.now(),
            mode: self.mode.load(),
            lacks_peer: false,
            refunds: Refunds::none(),
        };
        let mut entered = None;
        match presented {
            _ if decision.mode == Mode::Off || plan.skip => {}
            Presented::Service(service) => {
                // Counts it as exempt.
                let _ = self.limiter().check(Key::from_fingerprint(0), presented, decision.now);
                decision.outcome = Outcome::Exempt(service);
            }
            Presented::Absent | Presented::Forged => match self.keys(decision.origin.as_ref(), plan) {
                Some(keys) => {
                    if let Some(peer) = peer {
                        self.notices.look(&self.source, &self.origins, &peer, fields);
                    }
                    let in_flight = self.in_flight.as_ref().filter(|_| is_entering);
                    let caller = || Caller { key: keys.caller, peer, is_named: plan.caller.is_some() };
                    match self.count(&mut decision, &keys, presented, plan.cost, in_flight) {
                        Counted::Known(under_way) => entered = under_way,
                        Counted::Unknown(shared, entered) => {
                            let limits = self.asked(decision.class, &keys);
                            let (shared, cost, caller) = (Arc::clone(shared), plan.cost, caller());
                            let unknown =
                                Unknown { decision, keys, caller, presented, shared, limits, cost, entered };
                            return Ok(Examined::Unknown(Box::new(unknown)));
                        }
                    }
                    if let Some(watching) = &self.watching {
                        watching.look(self, &decision, caller, presented, fields);
                    }
                }
                None if decision.mode == Mode::Shadow => decision.lacks_peer = true,
                None => return Err(NoPeer),
            },
        }
        Ok(Examined::Decided(self.done(decision), entered))
    }

    #[inline]
    pub(crate) fn done(&self, decision: Parts) -> Decision {
        let decision = Decision(Arc::new(decision));
        if let Some(instruments) = &self.instruments {
            instruments.count(self, &decision.0);
        }
        decision
    }

    /// Ends the examination of a request with the store's verdict.
    #[cold]
    #[inline(never)]
    pub(crate) fn conclude(
        &self,
        unknown: Unknown,
        verdict: SharedVerdict,
        fields: &(impl RequestFields + ?Sized),
    ) -> Decision {
        let Unknown { mut decision, keys, caller, presented, .. } = unknown;
        decision.outcome = self.heard(verdict);
        self.punish(&mut decision, &keys);
        if let Some(watching) = &self.watching {
            watching.look(self, &decision, || caller, presented, fields);
        }
        self.done(decision)
    }

    /// The same where nobody may wait for the store: refused, since passing would be no limit.
    #[cold]
    #[inline(never)]
    fn without_waiting(&self, unknown: Unknown, fields: &(impl RequestFields + ?Sized)) -> Decision {
        tell_without_waiting();
        let limit = self.tiers.first(unknown.decision.class).most();
        let refusal = Refusal::new(limit, SOON, Reason::Unreachable);
        self.conclude(unknown, SharedVerdict::Refused { by: 0, refusal }, fields)
    }
}

/// When to come back to whom could not be waited for.
const SOON: Nanos = Nanos::from_secs(1);
