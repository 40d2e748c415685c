use std::cell::{Cell, OnceCell};

use crate::decision::Decision;
use crate::fields::{Fields, Merge};
use crate::name::Types;
use crate::permit::Permit;

/// What a response is told when it is known, and with it what its request comes to.
#[derive(Clone, Debug)]
#[must_use = "a response that is not told leaves its caller in the dark"]
pub struct Settled {
    /// The fields to add.
    pub fields: Option<Fields>,
    /// Belongs into the response's extensions, for whoever is further outside: the decision about a request that would be
    /// refused, were the gate not in shadow mode. `None` if one further inside says more.
    pub over: Option<Decision>,
}

impl Settled {
    /// Gives the fields away as [`Fields::write`] does; what belongs into the response's extensions.
    pub fn write<N, V>(self, types: &Types<N, V>, add: impl FnMut(&N, V, Merge)) -> Option<Decision> {
        if let Some(fields) = self.fields {
            fields.write(types, add);
        }
        self.over
    }
}

impl Permit {
    /// [Settles](Self::settle) a request with its response's status, and with the decision of a gate further `inside` that the
    /// response carries.
    #[inline]
    pub fn settle_with(self, status: u16, inside: Option<&Decision>) -> Settled {
        let over = self.decision().is_over_limit() && inside.is_none();
        let over = over.then(|| self.decision().clone());
        Settled { fields: self.settle(status, inside), over }
    }

    /// The same for a response that may be made more than once: the first is what the request comes to, and all are told it.
    pub fn settling(self) -> Settling {
        Settling { permit: Cell::new(Some(self)), settled: OnceCell::new() }
    }
}

/// A request that is settled when its response is made, however often that is.
#[must_use = "a request that is not settled stays charged, and its caller in the dark"]
pub struct Settling {
    permit: Cell<Option<Permit>>,
    settled: OnceCell<Settled>,
}

impl Settling {
    /// What the response is told; see [`Permit::settle_with`].
    pub fn settle(&self, status: u16, inside: Option<&Decision>) -> &Settled {
        self.settled.get_or_init(|| match self.permit.take() {
            Some(permit) => permit.settle_with(status, inside),
            None => Settled { fields: None, over: None },
        })
    }
}
