use std::hint::cold_path;
use std::sync::Arc;

use tollgate::Receipt;

use crate::decision::Decision;
use crate::fields::Fields;
use crate::gate::Gate;
use crate::settled::Settled;

/// A request that was counted and passes, until its response is known.
///
/// Unless it is settled before, dropping it ends the request: it is no longer under way, and stays charged.
// Three words, since it is moved through a request's futures.
#[derive(Debug)]
#[must_use = "a permit that is dropped at once ends the request before it began"]
pub struct Permit {
    pub(crate) decision: Decision,
    pub(crate) under_way: UnderWay,
}

impl Permit {
    /// Of a request that was decided so.
    pub(crate) const fn new(under_way: UnderWay, decision: Decision) -> Self {
        Self { decision, under_way }
    }

    /// What was decided.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Ends the request with its response's status, 500 if there is no response but an error; the fields for the response.
    ///
    /// The charge was made when the request was decided, so that no number of requests at once exceeds the limit. Here it is
    /// given back if [`GateBuilder::charge_if`](crate::GateBuilder::charge_if) does not hold of the status, or if the
    /// response carries the refusal of an `inner` gate and [`GateBuilder::refund_inner_refusals`] is set. A request that is
    /// never settled, because its client went away, stays charged; one that [`settle_with`](Self::settle_with) has settled
    /// already is not settled again.
    ///
    /// [`GateBuilder::refund_inner_refusals`]: crate::GateBuilder::refund_inner_refusals
    pub fn settle(mut self, status: u16, inner: Option<&Decision>) -> Option<Fields> {
        let permit = self.settle_with(status, inner).permit;
        permit.under_way.gate().fields(&permit.decision)
    }

    /// The same, where the fields are told later. A response may be made more than once: the first is what the request comes
    /// to, and all are told it.
    // The permit stays where it is, since moving it would take longer than all else here.
    #[inline]
    pub fn settle_with(&mut self, status: u16, inside: Option<&Decision>) -> Settled<'_> {
        let Self { decision, under_way } = self;
        if !decision.0.refunds.are_settled() {
            // Before anything foreign is asked, which may panic.
            under_way.end();
            decision.0.refunds.settle([]);
            under_way.gate().settle_decision(decision, status, inside);
        }
        let is_told = inside.is_none() && decision.is_over_limit();
        Settled { permit: self, is_told }
    }
}

/// What counts a request as under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay {
    gate: Arc<Gate>,
    /// `None` if the gate counts no requests under way, or not this one. In a box, since most gates count none.
    entered: Option<Box<Receipt>>,
}

impl UnderWay {
    pub(crate) const fn new(gate: Arc<Gate>, entered: Option<Box<Receipt>>) -> Self {
        Self { gate, entered }
    }

    pub(crate) const fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// The request is no longer under way.
    #[inline]
    pub(crate) fn end(&mut self) {
        if let Some(receipt) = self.entered.take() {
            cold_path();
            self.gate.leave(*receipt);
        }
    }
}

impl Drop for UnderWay {
    #[inline]
    fn drop(&mut self) {
        self.end();
    }
}
