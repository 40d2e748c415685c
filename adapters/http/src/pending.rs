use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tollgate::{Key, Presented, Receipt};

use crate::checkpoint::Entry;
use crate::counting::Keys;
use crate::decision::{Decision, Parts};
use crate::gate::Gate;
use crate::permit::{Permit, UnderWay};
use crate::policy::MOST_POLICIES;
use crate::request::RequestFields;
use crate::shared::{SharedAnswer, SharedBudgets, SharedVerdict};
use crate::watching::Caller;

/// A request about which the store of a [shared](crate::GateBuilder::shared) gate has to be asked: a future of its answer.
///
/// If it is dropped the request is no longer under way. It may have been charged.
#[must_use = "a request that nobody waits for is never decided"]
pub struct Pending {
    /// `None` once there is an answer.
    asking: Option<Asking>,
    answer: SharedAnswer,
}

/// Such a request, with the store's answer.
#[must_use = "an answer that nobody heeds keeps nobody out"]
pub struct Heard {
    asking: Asking,
    verdict: SharedVerdict,
}

/// What is known of such a request.
struct Asking {
    under_way: UnderWay,
    unknown: Box<Unknown>,
}

/// A request as far as a gate can look at it before its store is asked.
pub(crate) struct Unknown {
    pub(crate) decision: Parts,
    pub(crate) keys: Keys,
    pub(crate) caller: Caller,
    pub(crate) presented: Presented,
    pub(crate) shared: Arc<dyn SharedBudgets>,
    pub(crate) limits: Asked,
    pub(crate) cost: u32,
    /// What counts the request as under way.
    pub(crate) entered: Option<Box<Receipt>>,
}

/// The limits that a request must keep, by their numbers, and the keys by which they know the caller.
pub(crate) type Asked = heapless::Vec<(usize, Key), MOST_POLICIES>;

impl Pending {
    /// Asks.
    #[cold]
    pub(crate) fn new(gate: &Arc<Gate>, mut unknown: Box<Unknown>) -> Self {
        let under_way = UnderWay::new(Arc::clone(gate), unknown.entered.take());
        let answer = unknown.shared.check(&unknown.limits, unknown.cost, unknown.decision.now);
        Self { asking: Some(Asking { under_way, unknown }), answer }
    }
}

/// Once there was an answer, there is none any more.
impl Future for Pending {
    type Output = Heard;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Heard> {
        if self.asking.is_none() {
            return Poll::Pending;
        }
        let verdict = ready!(self.answer.as_mut().poll(cx));
        match self.asking.take() {
            Some(asking) => Poll::Ready(Heard { asking, verdict }),
            None => Poll::Pending,
        }
    }
}

impl Heard {
    /// What becomes of the request, and the gate that says so. The fields are those that it has looked at before.
    pub fn finish(self, fields: &(impl RequestFields + ?Sized)) -> (Arc<Gate>, Entry) {
        let gate = Arc::clone(self.asking.under_way.gate());
        let (decision, permit) = self.decide(fields);
        let entry = Entry::of(&gate, decision, permit, fields);
        (gate, entry)
    }

    /// What is decided. A request that passes has a permit.
    pub(crate) fn decide(self, fields: &(impl RequestFields + ?Sized)) -> (Decision, Option<Permit>) {
        let Asking { mut under_way, unknown } = self.asking;
        let decision = under_way.gate().conclude(*unknown, self.verdict, fields);
        if decision.is_over_limit() {
            under_way.end();
        }
        let permit = decision.passes().then(|| Permit::new(under_way, decision.clone()));
        (decision, permit)
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

impl fmt::Debug for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heard").field("verdict", &self.verdict).finish_non_exhaustive()
    }
}
