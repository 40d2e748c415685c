use std::sync::Arc;

use tollgate::Receipt;

use crate::decision::Decision;
use crate::gate::Gate;

/// A request under way, of a gate that limits how many one caller has at once; dropping it ends the request.
///
/// Adapters keep it until the response is there, or the request is given up.
#[derive(Debug)]
#[must_use = "a permit that is dropped at once counts nothing"]
pub struct Permit {
    gate: Arc<Gate>,
    receipt: Receipt,
}

impl Permit {
    /// The permit of a request that passes; `None` if its gate does not count requests under way, or not this one. One
    /// for each decision.
    pub fn of(gate: &Arc<Gate>, decision: &Decision) -> Option<Self> {
        let receipt = decision.entered?;
        (decision.gate == gate.id).then(|| Self { gate: Arc::clone(gate), receipt })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(in_flight) = &self.gate.in_flight {
            in_flight.release(self.receipt);
        }
    }
}
