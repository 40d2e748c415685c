use crate::decision::Decision;
use crate::fields::Merge;
use crate::name::Types;
use crate::permit::Permit;

/// A request that is settled with its response, which is to be told where the caller stands.
#[derive(Debug)]
#[must_use = "a response that is not told leaves its caller in the dark"]
pub struct Settled<'p> {
    pub(crate) permit: &'p Permit,
    /// Whether the response's extensions are told of the decision.
    pub(crate) is_told: bool,
}

impl Settled<'_> {
    /// Gives each field to `add`, with what to do if the response has such a field already. What belongs into the response's
    /// extensions, for whoever is further outside: the decision about a request that would be refused, were the gate not in
    /// shadow mode; `None` if one further inside says more.
    #[inline]
    pub fn write<T: Types>(&self, add: impl FnMut(T::Name, T::Value, Merge)) -> Option<Decision> {
        let Permit { decision, under_way } = self.permit;
        under_way.gate().tell::<T>(decision, add);
        self.is_told.then(|| decision.clone())
    }
}
