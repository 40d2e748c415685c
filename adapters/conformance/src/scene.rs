use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// What the handlers of one application share with the suite, so that neither has to wait for a time.
#[derive(Debug)]
pub struct Scene {
    greeted: AtomicUsize,
    arrived: Semaphore,
    may_go: Semaphore,
    left: Semaphore,
}

impl Scene {
    /// The greeting, which is counted: whom the application has not seen is not greeted.
    pub fn greet(&self) -> &'static str {
        // ORDERING: read when the response is there, which comes after.
        self.greeted.fetch_add(1, Ordering::Relaxed);
        "hello"
    }

    /// Says that the request has arrived, waits until it may go, and says that it has left, also if it is given up.
    pub async fn slow(&self) -> &'static str {
        let _leaving = Leaving(self);
        self.arrived.add_permits(1);
        if let Ok(permit) = self.may_go.acquire().await {
            permit.forget();
        }
        "at last"
    }

    pub(crate) fn greeted(&self) -> usize {
        self.greeted.load(Ordering::Relaxed)
    }

    /// Waits until so many more requests have arrived.
    pub(crate) async fn arrived(&self, requests: u32) {
        self.arrived.acquire_many(requests).await.unwrap().forget();
    }

    /// Waits until so many more of those that are under way have arrived, and fails if one is answered before.
    pub(crate) async fn all_arrive(&self, requests: u32, under_way: &mut JoinSet<u16>) {
        tokio::select! {
            () = self.arrived(requests) => {}
            Some(status) = under_way.join_next() => panic!("answered before it may be, with {status:?}"),
        }
    }

    /// Waits until so many more requests have left.
    pub(crate) async fn left(&self, requests: u32) {
        self.left.acquire_many(requests).await.unwrap().forget();
    }

    pub(crate) fn let_go(&self, requests: usize) {
        self.may_go.add_permits(requests);
    }
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            greeted: AtomicUsize::new(0),
            arrived: Semaphore::new(0),
            may_go: Semaphore::new(0),
            left: Semaphore::new(0),
        }
    }
}

struct Leaving<'s>(&'s Scene);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.left.add_permits(1);
    }
}
