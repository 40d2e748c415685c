use std::collections::HashMap;
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;
use tollgate::{BoxedLimiter, Limit, check_list};
use tollgate_http::{
    Key, Keyer, MOST_POLICIES, Nanos, Presented, Reason, Refusal, SharedAnswer, SharedBudgets, SharedPolicy,
    SharedStore, SharedVerdict, Standing,
};

/// A store of shared budgets, in memory, for tests of what waits. Clones are one store.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    behaves: Behaves,
    /// By the policies' names.
    limiters: Mutex<HashMap<String, Arc<BoxedLimiter>>>,
    asked: AtomicUsize,
    arrived: Semaphore,
    may_answer: Semaphore,
}

/// How a [`Store`] answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Behaves {
    /// Each node knows each answer.
    Knows,
    /// It has to be asked.
    Answers,
    /// It has to be asked, and answers when [`Store::let_go`] says that it may.
    Holds,
    /// It has to be asked, and can't be reached.
    IsAway,
}

impl Store {
    /// One without budgets.
    pub fn new(behaves: Behaves) -> Self {
        Self(Arc::new(Inner {
            behaves,
            limiters: Mutex::default(),
            asked: AtomicUsize::new(0),
            arrived: Semaphore::new(0),
            may_answer: Semaphore::new(0),
        }))
    }

    /// How often it was asked, or its node.
    pub fn asked(&self) -> usize {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// Waits until it is asked so many times more.
    pub(crate) async fn arrived(&self, questions: u32) {
        self.0.arrived.acquire_many(questions).await.unwrap().forget();
    }

    /// Lets it answer so many questions.
    pub fn let_go(&self, questions: usize) {
        self.0.may_answer.add_permits(questions);
    }
}

impl SharedStore for Store {
    fn keyer(&self) -> Keyer {
        Keyer::new(*b"a seed for tests")
    }

    fn budgets(
        &self,
        policies: &[SharedPolicy<'_>],
    ) -> Result<Arc<dyn SharedBudgets>, Box<dyn Error + Send + Sync>> {
        let mut known = self.0.limiters.lock().unwrap();
        let mut limiters = Vec::new();
        for policy in policies {
            let limiter = Arc::new(BoxedLimiter::with_capacity(policy.quota, policy.capacity)?);
            limiters.push(Arc::clone(known.entry(policy.name.into()).or_insert(limiter)));
        }
        Ok(Arc::new(Budgets { store: self.clone(), limiters: limiters.into() }))
    }
}

struct Budgets {
    store: Store,
    limiters: Arc<[Arc<BoxedLimiter>]>,
}

impl SharedBudgets for Budgets {
    fn try_check(&self, limits: &[(usize, Key)], cost: u32, now: Nanos) -> Option<SharedVerdict> {
        let knows = self.store.0.behaves == Behaves::Knows;
        knows.then(|| {
            self.store.0.asked.fetch_add(1, Ordering::Relaxed);
            decide(&self.limiters, limits, cost, now)
        })
    }

    fn check(&self, limits: &[(usize, Key)], cost: u32, now: Nanos) -> SharedAnswer {
        let (store, limiters, limits) = (self.store.clone(), Arc::clone(&self.limiters), limits.to_vec());
        Box::pin(async move {
            store.0.asked.fetch_add(1, Ordering::Relaxed);
            store.0.arrived.add_permits(1);
            match store.0.behaves {
                Behaves::Knows => {}
                Behaves::Answers => tokio::task::yield_now().await,
                Behaves::Holds => store.0.may_answer.acquire().await.unwrap().forget(),
                Behaves::IsAway => {
                    tokio::task::yield_now().await;
                    let refusal = Refusal::new(5, Nanos::from_millis(100), Reason::Unreachable);
                    return SharedVerdict::Refused { by: 0, refusal };
                }
            }
            decide(&limiters, &limits, cost, now)
        })
    }

    fn refund(&self, limits: &[usize], standings: &[Standing], now: Nanos) {
        for (&number, standing) in limits.iter().zip(standings) {
            self.limiters[number].refund(standing.receipt, now);
        }
    }
}

fn decide(limiters: &[Arc<BoxedLimiter>], limits: &[(usize, Key)], cost: u32, now: Nanos) -> SharedVerdict {
    let limits = limits.iter().map(|&(number, key)| (&*limiters[number] as &dyn Limit, key));
    let limits: heapless::Vec<(&dyn Limit, Key), MOST_POLICIES> = limits.collect();
    check_list(&limits, Presented::Absent, now, cost)
}
