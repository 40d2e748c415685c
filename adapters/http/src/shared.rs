//! Budgets that a gate shares with other nodes.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use tollgate::{AllVerdict, Key, Keyer, Nanos, Quota, Standing};

use crate::error::GateError;
use crate::policy::{MOST_POLICIES, Policy};

/// Where the budgets of several nodes are kept. `tollgate-redis` has such stores; a gate is told of one by
/// [`GateBuilder::shared`](crate::GateBuilder::shared).
pub trait SharedStore: Send + Sync + 'static {
    /// What callers' keys are made with: all nodes have the same seed, or each would have budgets of its own.
    fn keyer(&self) -> Keyer;

    /// Makes the limits of a gate, one for each of its policies and then of its classes. Gates of any node whose policies
    /// have the same names and quotas share their budgets.
    ///
    /// # Errors
    /// If any can't be had: what is wrong and what to do, for people.
    fn budgets(
        &self,
        policies: &[SharedPolicy<'_>],
    ) -> Result<Arc<dyn SharedBudgets>, Box<dyn Error + Send + Sync>>;
}

/// A policy whose budgets are to be kept in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SharedPolicy<'p> {
    /// Its name in responses.
    pub name: &'p str,
    /// What each of its callers is held to.
    pub quota: Quota,
    /// How many callers a node has room for.
    pub capacity: usize,
}

/// The limits of one gate in a [`SharedStore`], numbered from 0 in the order in which they were made.
///
/// A request names the limits that it must keep, each with the key by which that limit knows the caller, and is charged by
/// all or by none. `now` is the gate's clock, of this node alone.
pub trait SharedBudgets: Send + Sync {
    /// Decides without waiting, if this node knows the answer. It allocates nothing.
    fn try_check(&self, limits: &[(usize, Key)], cost: u32, now: Nanos) -> Option<SharedVerdict>;

    /// Decides, and asks the store. There is an answer within a bounded time, whatever happens to the store: a refusal for
    /// [`Reason::Unreachable`](crate::Reason::Unreachable) at worst. The future may be dropped at any time.
    fn check(&self, limits: &[(usize, Key)], cost: u32, now: Nanos) -> SharedAnswer;

    /// Gives back what an admitted request was charged by these limits. Nobody waits for it.
    fn refund(&self, limits: &[usize], standings: &[Standing], now: Nanos);

    /// Brings to date what the store shows through the facade `metrics`. By default nothing.
    fn observe(&self) {}
}

/// What the limits of one request answer, in their order.
pub type SharedVerdict = AllVerdict<MOST_POLICIES>;

/// An answer that is waited for.
pub type SharedAnswer = Pin<Box<dyn Future<Output = SharedVerdict> + Send>>;

impl<'p> SharedPolicy<'p> {
    pub(crate) const fn new(name: &'p str, quota: Quota, capacity: usize) -> Self {
        Self { name, quota, capacity }
    }
}

/// The limits of these policies in a store.
pub(crate) fn budgets(
    store: &dyn SharedStore,
    policies: &[Policy],
    capacity: usize,
) -> Result<Arc<dyn SharedBudgets>, GateError> {
    let shared = |policy: &'_ Policy| policy.capacity.unwrap_or(capacity);
    let shared = policies.iter().map(|policy| SharedPolicy::new(&policy.name, policy.quota, shared(policy)));
    let policies: Vec<_> = shared.collect();
    store.budgets(&policies).map_err(|error| GateError::Shared { reason: error.to_string() })
}

/// The store's keyer, if there is a store.
pub(crate) fn keyer(store: Option<&dyn SharedStore>, own: Option<Keyer>) -> Result<Keyer, GateError> {
    match (store.map(SharedStore::keyer), own) {
        (Some(theirs), Some(own)) if theirs.bytes(b"seed") != own.bytes(b"seed") => Err(GateError::TwoSeeds),
        (Some(keyer), _) | (None, Some(keyer)) => Ok(keyer),
        (None, None) => Ok(Keyer::random()),
    }
}

impl fmt::Debug for dyn SharedBudgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedBudgets")
    }
}
