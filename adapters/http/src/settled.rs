use std::cell::{Cell, OnceCell};

use crate::decision::Decision;
use crate::fields::Merge;
use crate::name::Types;
use crate::permit::Permit;
use crate::refunds::Refunds;

/// A request that is settled with its response, which is to be told where the caller stands.
#[derive(Debug)]
#[must_use = "a response that is not told leaves its caller in the dark"]
pub struct Settled {
    /// Of a request that is no longer under way.
    pub(crate) permit: Permit,
    pub(crate) refunds: Refunds,
    /// Whether the response's extensions are told of the decision.
    pub(crate) is_told: bool,
}

impl Settled {
    /// Gives each field to `add`, with what to do if the response has such a field already. What belongs into the response's
    /// extensions, for whoever is further outside: the decision about a request that would be refused, were the gate not in
    /// shadow mode; `None` if one further inside says more.
    #[inline]
    pub fn write<T: Types>(&self, mut add: impl FnMut(T::Name, T::Value, Merge)) -> Option<Decision> {
        let Permit { decision, under_way } = &self.permit;
        under_way.gate().tell(decision, self.refunds, |name, value, merge| {
            value.give::<T>(name, |name, value| add(name, value, merge));
        });
        self.is_told.then(|| decision.clone())
    }
}

impl Permit {
    /// [Settles](Self::settle_with) a request whose response may be made more than once: the first is what the request comes
    /// to, and all are told it.
    pub fn settling(self) -> Settling {
        Settling { permit: Cell::new(Some(self)), settled: OnceCell::new() }
    }
}

/// A request that is settled when its response is made, however often that is.
#[must_use = "a request that is not settled stays charged, and its caller in the dark"]
pub struct Settling {
    permit: Cell<Option<Permit>>,
    settled: OnceCell<Option<Settled>>,
}

impl Settling {
    /// What the response is told; see [`Permit::settle_with`]. Never `None`, since the permit is there for the first.
    pub fn settle(&self, status: u16, inside: Option<&Decision>) -> Option<&Settled> {
        self.settled.get_or_init(|| Some(self.permit.take()?.settle_with(status, inside))).as_ref()
    }
}
