use tollgate::{BuildError, Keyer, Nanos, Prefixes};

use crate::callers::{Callers, FORMS, MINUTE, SECOND};
use crate::entry::Entry;
use crate::policy::Policy;
use crate::reorder::Reorder;
use crate::timeline::Timeline;
use crate::tried::Tried;

/// Several policies, tried on the same requests.
///
/// The limiters, their tables and their arithmetic are those of production; the log's time is their clock.
#[derive(Debug)]
pub struct Replay {
    keyer: Keyer,
    /// Requests of the last minute, which may come out of order.
    waiting: Option<Reorder<Entry>>,
    /// Callers of each size that a policy has; the first is the size that callers are told in.
    pub(crate) sizes: Vec<Callers>,
    pub(crate) tried: Vec<Tried>,
    /// The windows that are counted for each caller.
    pub(crate) windows: Vec<Nanos>,
    pub(crate) timeline: Timeline,
    pub(crate) services: Vec<Service>,
    pub(crate) requests: u64,
    pub(crate) late: u64,
    pub(crate) last: Nanos,
    pub(crate) is_cut: bool,
}

/// What a service of one's own did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Service {
    pub(crate) name: String,
    pub(crate) requests: u64,
    /// The smallest limits that refuse nothing of it.
    pub(crate) needs: [u32; FORMS],
}

impl Replay {
    /// Tries `policies`. Callers are told by `prefixes`, `services` are the names of one's own, and of up to `most_callers`
    /// more than their number is known.
    ///
    /// # Errors
    /// If a policy's quota can't be enforced, or there is no memory for its table.
    pub fn new(
        policies: Vec<Policy>,
        prefixes: Prefixes,
        services: &[String],
        most_callers: usize,
        keyer: Keyer,
    ) -> Result<Self, BuildError> {
        let mut windows = vec![SECOND, MINUTE];
        let mut sizes = vec![prefixes];
        for policy in &policies {
            if !windows.contains(&policy.quota.window()) {
                windows.push(policy.quota.window());
            }
            if !sizes.contains(&policy.prefixes) {
                sizes.push(policy.prefixes);
            }
        }
        let new = |size: Prefixes| Callers::new(size, &windows, policies.len(), most_callers);
        let sizes = sizes.into_iter().map(new).collect();
        let timeline = Timeline::new(policies.len());
        let tried: Result<_, _> =
            policies.into_iter().map(|policy| Tried::new(policy, services.len())).collect();
        let service = |name: &String| Service { name: name.clone(), requests: 0, needs: [0; FORMS] };
        Ok(Self {
            keyer,
            waiting: Some(Reorder::new()),
            sizes,
            tried: tried?,
            windows,
            timeline,
            services: services.iter().map(service).collect(),
            requests: 0,
            late: 0,
            last: Nanos::ZERO,
            is_cut: false,
        })
    }

    /// Takes in a request. It is decided once none can come before it any more; if it comes too late for that, it is
    /// counted, and not decided.
    pub fn push(&mut self, entry: Entry) {
        if let Some(mut waiting) = self.waiting.take() {
            if waiting.push(entry, |entry| self.decide(&entry)).is_err() {
                self.late += 1;
            }
            self.waiting = Some(waiting);
        }
    }

    /// Decides what still waits. What is pushed afterwards is passed over.
    pub fn finish(&mut self) {
        if let Some(mut waiting) = self.waiting.take() {
            waiting.finish(|entry| self.decide(&entry));
            self.is_cut = waiting.is_cut();
        }
    }

    fn decide(&mut self, entry: &Entry) {
        self.requests += 1;
        self.last = entry.time;
        let place = self.timeline.request(entry.time);
        let own = entry.own.map(usize::from);
        for (size, callers) in self.sizes.iter_mut().enumerate() {
            let (origin, key) = callers.key(entry, &self.keyer);
            let noted = callers.note(origin, key, entry);
            if let Some(service) = own.filter(|_| size == 0).and_then(|own| self.services.get_mut(own)) {
                service.requests += 1;
                for (need, count) in service.needs.iter_mut().zip(noted.counts) {
                    *need = (*need).max(count);
                }
            }
            for (index, tried) in self.tried.iter_mut().enumerate() {
                if tried.policy.prefixes != callers.prefixes() || tried.policy.exempt_own && own.is_some() {
                    continue;
                }
                let counted = if tried.policy.everyone { self.keyer.bytes(b"everyone") } else { key };
                if !tried.refuses(counted, entry.time) {
                    continue;
                }
                tried.refused += 1;
                if let Some(refused) = own.and_then(|own| tried.own.get_mut(own)) {
                    *refused += 1;
                }
                self.timeline.refuse(place, index);
                match noted.caller {
                    Some(caller) => tried.refused_callers += u64::from(callers.refuse(caller, index)),
                    None => tried.beyond.add(key.fingerprint()),
                }
            }
        }
    }
}
