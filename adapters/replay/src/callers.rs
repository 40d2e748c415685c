use hashbrown::HashTable;
use tollgate::{Key, Keyer, Nanos, Origin, Prefixes};

use crate::distinct::{Distinct, DistinctMany};
use crate::entry::{Conduct, Entry};
use crate::meter::{Meter, SlidingMeter, SlidingWindow, Window};
use crate::verdict::Evidence;

/// What is known of each caller, for callers of one size: numbers, some 150 bytes of them.
#[derive(Debug)]
pub(crate) struct Callers {
    prefixes: Prefixes,
    /// Where in `list` a key is.
    index: HashTable<u32>,
    list: Vec<Caller>,
    /// For each caller one count for each window.
    meters: Vec<Meter>,
    windows: Vec<Window>,
    sliding: SlidingWindow,
    /// For each caller how many of its requests each policy refused.
    refused: Vec<u32>,
    policies: usize,
    most: usize,
    /// Those for whom there was no room.
    beyond: DistinctMany,
}

/// One caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    key: Key,
    pub(crate) origin: Origin,
    pub(crate) requests: u32,
    own: u32,
    internal: u32,
    denied: u32,
    agents: Distinct,
    pub(crate) sliding: SlidingMeter,
}

/// What a request is in the eyes of the meters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noted {
    /// Whose it is; nobody's if there is no room for its caller.
    pub(crate) caller: Option<usize>,
    /// How many requests its caller had, with this one, in a second, in a minute, and in a sliding minute.
    pub(crate) counts: [u32; FORMS],
}

impl Callers {
    /// Room for `most` callers, of whom these windows are counted; the first are to be a second and a minute.
    pub(crate) fn new(prefixes: Prefixes, windows: &[Nanos], policies: usize, most: usize) -> Self {
        Self {
            prefixes,
            index: HashTable::new(),
            list: Vec::new(),
            meters: Vec::new(),
            windows: windows.iter().map(|length| Window::new(*length)).collect(),
            sliding: SlidingWindow::new(MINUTE),
            refused: Vec::new(),
            policies,
            most,
            beyond: DistinctMany::default(),
        }
    }

    pub(crate) const fn prefixes(&self) -> Prefixes {
        self.prefixes
    }

    /// The caller of a request, as this size of callers knows it.
    pub(crate) fn key(&self, entry: &Entry, keyer: &Keyer) -> (Origin, Key) {
        let origin = entry.caller.at(self.prefixes);
        (origin, keyer.address(origin.network()))
    }

    /// Counts a request.
    pub(crate) fn note(&mut self, origin: Origin, key: Key, entry: &Entry) -> Noted {
        let Some(at) = self.find_or_add(origin, key) else {
            self.beyond.add(key.fingerprint());
            return Noted { caller: None, counts: [0; FORMS] };
        };
        let caller = &mut self.list[at];
        let count = |number: &mut u32, is: bool| *number = number.saturating_add(u32::from(is));
        count(&mut caller.requests, true);
        count(&mut caller.own, entry.own.is_some());
        count(&mut caller.internal, entry.conduct == Conduct::Internal);
        count(&mut caller.denied, entry.conduct == Conduct::Denied);
        caller.agents.add(entry.hint);
        let mut counts = [0; FORMS];
        counts[SLIDING] = self.sliding.count(&mut caller.sliding, entry.time);
        let meters = self.meters.iter_mut().skip(at * self.windows.len());
        for (index, (window, meter)) in self.windows.iter().zip(meters).enumerate() {
            let found = window.count(meter, entry.time);
            if index < SLIDING {
                counts[index] = found;
            }
        }
        Noted { caller: Some(at), counts }
    }

    /// Counts a refusal by a policy; whether it is the first of its caller.
    pub(crate) fn refuse(&mut self, caller: usize, policy: usize) -> bool {
        let count = &mut self.refused[caller * self.policies + policy];
        *count = count.saturating_add(1);
        *count == 1
    }

    fn find_or_add(&mut self, origin: Origin, key: Key) -> Option<usize> {
        let list = &self.list;
        let is_it = |at: &u32| list.get(*at as usize).is_some_and(|caller| caller.key == key);
        if let Some(at) = self.index.find(key.fingerprint(), is_it) {
            return Some(*at as usize);
        }
        let at = self.list.len();
        if at >= self.most {
            return None;
        }
        let number = u32::try_from(at).ok()?;
        let list = &self.list;
        let hash = |at: &u32| list.get(*at as usize).map_or(0, |caller| caller.key.fingerprint());
        self.index.insert_unique(key.fingerprint(), number, hash);
        self.list.push(Caller {
            key,
            origin,
            requests: 0,
            own: 0,
            internal: 0,
            denied: 0,
            agents: Distinct::default(),
            sliding: SlidingMeter::default(),
        });
        self.meters.resize(self.list.len() * self.windows.len(), Meter::default());
        self.refused.resize(self.list.len() * self.policies, 0);
        Some(at)
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.list.len() as u64 + u64::from(self.beyond.estimate())
    }

    /// Whether there was no room for some, so that their number is an estimate.
    pub(crate) fn is_estimate(&self) -> bool {
        self.beyond.estimate() > 0
    }

    /// All that there was room for.
    pub(crate) fn list(&self) -> &[Caller] {
        &self.list
    }

    /// How many requests of a caller a policy refused.
    pub(crate) fn refused(&self, caller: usize, policy: usize) -> u32 {
        self.refused.get(caller * self.policies + policy).copied().unwrap_or_default()
    }

    /// The most that a caller did in one window.
    pub(crate) fn peak(&self, caller: usize, window: usize) -> u32 {
        self.meters.get(caller * self.windows.len() + window).map_or(0, |meter| meter.peak)
    }
}

impl Caller {
    pub(crate) fn evidence(&self) -> Evidence {
        Evidence {
            own: self.own,
            internal: self.internal,
            denied: self.denied,
            distinct: self.agents.estimate(),
        }
    }
}

/// A second, a minute, a sliding minute.
pub(crate) const FORMS: usize = 3;
pub(crate) const SLIDING: usize = 2;
pub(crate) const SECOND: Nanos = Nanos::from_secs(1);
pub(crate) const MINUTE: Nanos = Nanos::from_secs(60);
