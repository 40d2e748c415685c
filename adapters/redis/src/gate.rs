//! Budgets of an HTTP gate.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tollgate::{AllVerdict, Key, Keyer, Nanos, Standing, Verdict};
use tollgate_http::{MOST_POLICIES, SharedAnswer, SharedBudgets, SharedPolicy, SharedStore, SharedVerdict};

use crate::error::StoreError;
use crate::limiter::SharedLimiter;
use crate::limiter_builder::SharedLimiterBuilder;
use crate::several::{Keyed, UNHEARD, together, try_together};
use crate::store::Store;

/// A store for a gate's budgets, with settings for its limits: see [`Store::with`].
#[derive(Clone)]
pub struct StoreWith {
    store: Store,
    settings: Arc<Settings>,
}

type Settings = dyn Fn(SharedLimiterBuilder) -> SharedLimiterBuilder + Send + Sync;

impl Store {
    /// The same store for a gate whose limits are to have other settings than the default ones:
    /// `Gate::builder(..).shared(store.with(|limiter| limiter.outage(Outage::Closed)))`.
    ///
    /// How many callers there is room for, the gate says.
    pub fn with(
        &self,
        settings: impl Fn(SharedLimiterBuilder) -> SharedLimiterBuilder + Send + Sync + 'static,
    ) -> StoreWith {
        StoreWith { store: self.clone(), settings: Arc::new(settings) }
    }
}

/// With the default settings; [`Store::with`] has others.
impl SharedStore for Store {
    fn keyer(&self) -> Keyer {
        self.0.keyer.clone()
    }

    fn budgets(
        &self,
        policies: &[SharedPolicy<'_>],
    ) -> Result<Arc<dyn SharedBudgets>, Box<dyn Error + Send + Sync>> {
        self.with(|limiter| limiter).budgets(policies)
    }
}

impl SharedStore for StoreWith {
    fn keyer(&self) -> Keyer {
        self.store.keyer()
    }

    fn budgets(
        &self,
        policies: &[SharedPolicy<'_>],
    ) -> Result<Arc<dyn SharedBudgets>, Box<dyn Error + Send + Sync>> {
        let limiter = |policy: &SharedPolicy<'_>| {
            let limiter = self.store.limiter(policy.name, policy.quota);
            (self.settings)(limiter).capacity(policy.capacity).build()
        };
        let limiters = policies.iter().map(limiter).collect::<Result<Vec<_>, StoreError>>()?;
        Ok(Arc::new(Budgets { store: self.store.clone(), limiters }))
    }
}

/// The limits of one gate.
struct Budgets {
    store: Store,
    limiters: Vec<SharedLimiter>,
}

/// Those that one request must keep.
type Limits<'l> = heapless::Vec<Keyed<'l>, MOST_POLICIES>;

impl Budgets {
    /// `None` if a number is no limit's.
    fn limits(&self, limits: &[(usize, Key)]) -> Option<Limits<'_>> {
        limits.iter().map(|&(number, key)| Some((self.limiters.get(number)?, key))).collect()
    }
}

impl SharedBudgets for Budgets {
    fn try_check(&self, limits: &[(usize, Key)], cost: u32, now: Nanos) -> Option<SharedVerdict> {
        match &self.limits(limits)?[..] {
            &[(limiter, key)] => limiter.try_check(key, cost, now).map(only),
            several => try_together(several, cost, now),
        }
    }

    fn check(&self, limits: &[(usize, Key)], cost: u32, now: Nanos) -> SharedAnswer {
        let Some(limits) = self.limits(limits) else {
            return Box::pin(async { AllVerdict::Refused { by: 0, refusal: UNHEARD } });
        };
        match &limits[..] {
            &[(limiter, key)] => {
                let limiter = limiter.clone();
                Box::pin(async move { only(limiter.check(key, cost, now).await) })
            }
            several => {
                let several: Vec<_> = several.iter().map(|&(limiter, key)| (limiter.clone(), key)).collect();
                Box::pin(async move {
                    let limits: Limits<'_> = several.iter().map(|(limiter, key)| (limiter, *key)).collect();
                    together(&limits, cost, now).await
                })
            }
        }
    }

    fn refund(&self, limits: &[usize], standings: &[Standing], now: Nanos) {
        let Some(slot) = standings.last().map(|standing| standing.receipt.key()) else { return };
        let limiters = limits.iter().filter_map(|&number| self.limiters.get(number));
        let charged_there: Vec<_> = limiters
            .zip(standings)
            .filter(|(limiter, standing)| limiter.refund_here(standing, now).is_none())
            .map(|(limiter, standing)| (limiter.clone(), *standing))
            .collect();
        if !charged_there.is_empty() {
            self.store.0.runtime.spawn(async move {
                for (limiter, standing) in charged_there {
                    limiter.refund_in(slot, &standing, now).await;
                }
            });
        }
    }

    fn observe(&self) {
        self.store.0.tell();
        self.store.0.tallies.refresh();
    }
}

fn only(verdict: Verdict) -> SharedVerdict {
    match verdict {
        Verdict::Exempt(service) => AllVerdict::Exempt(service),
        Verdict::Admitted(standing) => AllVerdict::Admitted([standing].into_iter().collect()),
        Verdict::Refused(refusal) => AllVerdict::Refused { by: 0, refusal },
    }
}

impl fmt::Debug for StoreWith {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreWith").field("store", &self.store).finish_non_exhaustive()
    }
}
