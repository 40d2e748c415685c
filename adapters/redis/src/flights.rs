use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tollgate::Key;

/// Which callers the store is being asked about, so that requests of one caller and of one cost don't ask all at once.
#[derive(Clone)]
pub(crate) struct Flights(Arc<[Mutex<UnderWay>; SHARDS]>);

/// What closes when a flight has landed.
type UnderWay = HashMap<Flight, watch::Receiver<()>>;

/// A caller's fingerprint, and what each of the requests costs: who asks for all that wait must know what they want.
type Flight = (u64, u32);

const SHARDS: usize = 16;

/// A request's part in asking.
pub(crate) enum Seat {
    /// It asks; others wait until this is dropped.
    Leader(Landing),
    /// It waits for the one that asks: the channel closes.
    Follower(watch::Receiver<()>),
}

/// Ends a flight when it is dropped, also by a panic.
pub(crate) struct Landing {
    flights: Flights,
    key: Key,
    cost: u32,
    waited_for: watch::Sender<()>,
}

impl Flights {
    pub(crate) fn new() -> Self {
        Self(Arc::new(std::array::from_fn(|_| Mutex::default())))
    }

    pub(crate) fn board(&self, key: Key, cost: u32) -> Seat {
        let mut shard = self.shard(key);
        let flight = (key.fingerprint(), cost);
        if let Some(waiting) = shard.get(&flight) {
            return Seat::Follower(waiting.clone());
        }
        let (sender, receiver) = watch::channel(());
        shard.insert(flight, receiver);
        Seat::Leader(Landing { flights: self.clone(), key, cost, waited_for: sender })
    }

    fn shard(&self, key: Key) -> MutexGuard<'_, UnderWay> {
        let index = usize::try_from(key.fingerprint() >> 40).unwrap_or(0) % SHARDS;
        // A map is whole between its operations, and nothing else happens under the lock.
        self.0[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Landing {
    /// How many wait; the map's own receiver is none of them.
    pub(crate) fn followers(&self) -> u32 {
        u32::try_from(self.waited_for.receiver_count().saturating_sub(1)).unwrap_or(u32::MAX)
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.flights.shard(self.key).remove(&(self.key.fingerprint(), self.cost));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_asks_and_the_others_wait_for_it() {
        let flights = Flights::new();
        let (a, b) = (Key::from_fingerprint(1 << 40), Key::from_fingerprint(17 << 40));
        let Seat::Leader(landing) = flights.board(a, 1) else { panic!("nobody else asks") };
        assert!(matches!(flights.board(b, 1), Seat::Leader(_)));
        assert_eq!(landing.followers(), 0);
        let Seat::Follower(mut waiting) = flights.board(a, 1) else { panic!("somebody asks") };
        assert_eq!(landing.followers(), 1);
        assert!(matches!(flights.board(a, 2), Seat::Leader(_)));
        drop(landing);
        assert!(waiting.changed().await.is_err());
        assert!(matches!(flights.board(a, 1), Seat::Leader(_)));
    }
}
