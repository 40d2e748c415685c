use tollgate::Key;

use crate::gate::Gate;

/// On which terms a request is decided, where they are not the ordinary ones: what it costs, and whose budget it uses.
///
/// ```
/// use tollgate_http::{Gate, Quota};
/// let gate = Gate::builder(Quota::per_minute(10)).class("paid", Quota::per_minute(600)).build()?;
/// let peer = "203.0.113.7".parse().ok();
/// // A user whom authentication has named, who pays, and whose request is a batch of seven.
/// let terms = gate.terms().caller("user 4711").class("paid").cost(7);
/// let decision = gate.decide_on(terms, peer, &())?;
/// let fields = gate.fields(&decision).expect("it is counted");
/// assert_eq!(fields.rate_limit_policy(), r#""paid";q=600;w=60"#);
/// assert_eq!(fields.rate_limit(), r#""paid";r=593;t=60"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "terms that no decision is made on change nothing"]
pub struct Terms<'g> {
    gate: &'g Gate,
    pub(crate) skip: bool,
    pub(crate) cost: u32,
    pub(crate) caller: Option<Key>,
    pub(crate) scope: Option<Key>,
    /// Which of the gate's classes.
    pub(crate) class: Option<u8>,
}

impl Gate {
    /// The ordinary terms: the caller's address, the gate's own quota, a cost of 1.
    pub fn terms(&self) -> Terms<'_> {
        Terms { gate: self, skip: false, cost: 1, caller: None, scope: None, class: None }
    }
}

impl Terms<'_> {
    /// Lets the request pass uncounted: a health check, say. Its credential is looked at all the same.
    pub fn skip(mut self) -> Self {
        self.skip = true;
        self
    }

    /// The request costs as much as so many ordinary ones. One of 0 is admitted and charged nothing; one above the
    /// limit is refused.
    pub fn cost(mut self, cost: u32) -> Self {
        self.cost = cost;
        self
    }

    /// Counts by this in place of the address: the id of a user, a tenant or an API key. Policies of networks still
    /// count by address.
    ///
    /// # Security
    /// Only what has been authenticated. From an unverified token each forgery would have a fresh budget; whoever is not
    /// authenticated is best counted by its address.
    pub fn caller(mut self, id: impl AsRef<[u8]>) -> Self {
        self.caller = Some(self.gate.keyer.bytes(id.as_ref()));
        self
    }

    /// A budget of its own in each such scope: a route as the router has matched it, or a method.
    ///
    /// # Security
    /// Not the path as the client wrote it, whose spellings would multiply its budget.
    pub fn scope(mut self, name: impl AsRef<[u8]>) -> Self {
        self.scope = Some(self.gate.keyer.bytes(name.as_ref()));
        self
    }

    /// Holds the caller to the quota of this class ([`GateBuilder::class`](crate::GateBuilder::class)) in place of the
    /// gate's own; a class that the gate does not have changes nothing.
    pub fn class(mut self, name: &str) -> Self {
        self.class = self.gate.class(name);
        self
    }
}
