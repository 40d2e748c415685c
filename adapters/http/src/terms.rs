use std::net::IpAddr;
use std::sync::Arc;

use tollgate::{Key, Presented};

use crate::decision::{Decision, NoPeer};
use crate::examine::{Admission, Examined};
use crate::gate::Gate;
use crate::notices::no_such_class;
use crate::pending::Pending;
use crate::permit::Permit;
use crate::request::RequestFields;

/// On which terms a request is decided, where they are not the ordinary ones: what it costs, and whose budget it uses.
///
/// ```
/// use tollgate_http::{Gate, Quota};
/// let gate = Gate::builder(Quota::per_minute(10)).class("paid", Quota::per_minute(600)).build()?;
/// let gate = std::sync::Arc::new(gate);
/// let peer = "203.0.113.7".parse().ok();
/// // A user whom authentication has named, who pays, and whose request is a batch of seven.
/// let decision = gate.terms().caller("user 4711").class("paid").cost(7).decide(peer, &())?;
/// let fields = gate.fields(&decision).expect("it is counted");
/// assert_eq!(fields.rate_limit_policy(), r#""paid";q=600;w=60"#);
/// assert_eq!(fields.rate_limit(), r#""paid";r=593;t=60"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "terms that no decision is made on change nothing"]
pub struct Terms<'g> {
    gate: &'g Arc<Gate>,
    plan: Plan,
}

/// The same without its gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) skip: bool,
    pub(crate) cost: u32,
    pub(crate) caller: Option<Key>,
    pub(crate) scope: Option<Key>,
    /// Which of the gate's classes.
    pub(crate) class: Option<u8>,
}

impl Plan {
    pub(crate) const ORDINARY: Self = Self { skip: false, cost: 1, caller: None, scope: None, class: None };

    #[inline]
    pub(crate) const fn is_ordinary(&self) -> bool {
        matches!(self, Self { skip: false, cost: 1, caller: None, scope: None, class: None })
    }
}

impl Gate {
    /// The ordinary terms: the caller's address, the gate's own quota, a cost of 1.
    pub fn terms(self: &Arc<Self>) -> Terms<'_> {
        Terms { gate: self, plan: Plan::ORDINARY }
    }
}

impl Terms<'_> {
    /// Lets the request pass uncounted: a health check, say. Its credential is looked at all the same.
    pub fn skip(mut self) -> Self {
        self.plan.skip = true;
        self
    }

    /// The request costs as much as so many ordinary ones. One of 0 is admitted and charged nothing; one above the
    /// limit is refused.
    pub fn cost(mut self, cost: u32) -> Self {
        self.plan.cost = cost;
        self
    }

    /// Counts by this in place of the address: the id of a user, a tenant or an API key. Policies of networks still
    /// count by address.
    ///
    /// # Security
    /// Only what has been authenticated. From an unverified token each forgery would have a fresh budget; whoever is not
    /// authenticated is best counted by its address.
    pub fn caller(mut self, id: impl AsRef<[u8]>) -> Self {
        self.plan.caller = Some(self.gate.keyer.bytes(id.as_ref()));
        self
    }

    /// A budget of its own in each such scope, such as a route as the router has matched it; scopes add up. Policies beside
    /// the first, requests under way and penalties are the caller's in all scopes together.
    ///
    /// # Security
    /// Nothing that the client chooses freely: neither the path as it was written, which has many spellings, nor the method,
    /// which may be any word (`match` it: `"read"` for `GET` and `HEAD`, `"write"` for all others).
    pub fn scope(mut self, name: impl AsRef<[u8]>) -> Self {
        let keyer = &self.gate.keyer;
        self.plan.scope = Some(match self.plan.scope {
            None => keyer.bytes(name.as_ref()),
            Some(outer) => keyer.parts(&[&outer.fingerprint().to_le_bytes(), name.as_ref()]),
        });
        self
    }

    /// Holds the caller to the quota of this class ([`GateBuilder::class`](crate::GateBuilder::class)) in place of the
    /// gate's own; a name that no class of the gate has changes nothing, and the log says so once.
    pub fn class(mut self, name: &str) -> Self {
        match self.gate.class(name) {
            Some(class) => self.plan.class = Some(class),
            None => no_such_class(name),
        }
        self
    }

    /// Decides the request, and counts it unless it is exempt or skipped. A limit of requests under way is not looked at.
    ///
    /// # Errors
    /// As [`Gate::decide`]; a request that is counted by something else than its address needs no peer.
    pub fn decide(
        self,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<Decision, NoPeer> {
        self.gate.decide_by(&self.plan, peer, fields)
    }

    /// The same, where the store of a [shared](crate::GateBuilder::shared) gate is asked if it must be.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    pub async fn decide_shared(
        self,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<Decision, NoPeer> {
        match self.gate.examine(&self.plan, self.gate.verify(fields), peer, fields, false)? {
            Examined::Decided(decision, _) => Ok(decision),
            Examined::Unknown(unknown) => Ok(Pending::new(self.gate, unknown).await.decide(fields).0),
        }
    }

    /// Decides the request, and lets it in: what adapters do. A request that passes and was counted has a permit, to be
    /// kept until its response is known.
    ///
    /// # Errors
    /// As [`decide`](Self::decide), which also says what becomes of requests to a shared gate.
    pub fn admit(
        self,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<(Decision, Option<Permit>), NoPeer> {
        self.gate.admit_by(&self.plan, peer, fields)
    }

    /// The same, where the store of a [shared](crate::GateBuilder::shared) gate is asked if it must be. Meanwhile the
    /// request is under way.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    pub async fn admit_shared(
        self,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<(Decision, Option<Permit>), NoPeer> {
        match self.begin(self.gate.verify(fields), peer, fields)? {
            Admission::Decided(decision, permit) => Ok((decision, permit)),
            Admission::Pending(pending) => Ok(pending.await.decide(fields)),
        }
    }

    /// The same, where nobody waits yet.
    pub(crate) fn begin(
        self,
        presented: Presented,
        peer: Option<IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<Admission, NoPeer> {
        self.gate.begin_by(&self.plan, presented, peer, fields)
    }
}
