//! What limits do, in the plainest way: a map of callers, and exact times.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{Nanos, Quota};
use tollgate_replay::{Outcome, Policy};

use crate::support::{entry, replayed};

/// A limit in the plainest way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Model {
    /// Windows that begin with a caller's first request.
    Fixed { limit: u64, window: u64 },
    /// Windows of the clock, the one before weighted by what is left of it.
    Sliding { limit: u64, window: u64 },
    /// The time at which all that was admitted would have come, had it come evenly: in ticks, to which an interval is
    /// rounded up, and a request may come 1/256 of it early.
    Gcra { burst: u64, interval: u64, tick: u64 },
}

/// Which requests of callers a limit refuses; the requests are in the order of time.
pub(crate) fn refusals(model: Model, requests: &[(IpAddr, u64)]) -> Vec<bool> {
    // Of each caller two numbers that mean what the limit wants.
    let mut callers: HashMap<IpAddr, (u64, u64)> = HashMap::new();
    let mut windows: HashMap<(IpAddr, u64), u64> = HashMap::new();
    let mut is_refused = |&(caller, now): &(IpAddr, u64)| match model {
        Model::Fixed { limit, window } => {
            let (start, count) = callers.entry(caller).or_insert((now, 0));
            if now - *start >= window {
                (*start, *count) = (now, 0);
            }
            *count += 1;
            *count > limit
        }
        Model::Sliding { limit, window } => {
            let before = windows.get(&(caller, now / window - 1)).copied().unwrap_or(0);
            let current = windows.entry((caller, now / window)).or_insert(0);
            let refused = before * (window - now % window) / window + *current + 1 > limit;
            *current += u64::from(!refused);
            refused
        }
        Model::Gcra { burst, interval, tick } => {
            let now = now / tick;
            let (arrival, _) = callers.entry(caller).or_insert((now, 0));
            let charged = now.max(*arrival) + interval;
            let refused = charged - now > burst * interval + interval / 256;
            if !refused {
                *arrival = charged;
            }
            refused
        }
    };
    requests.iter().map(&mut is_refused).collect()
}

pub(crate) const SECOND: u64 = 1_000_000_000;

/// Requests of few callers in whole seconds, as logs have them, out of order by up to a minute.
fn requests() -> impl Strategy<Value = Vec<(u8, u64)>> {
    let step = prop_oneof![6 => Just(0_u64), 3 => 0..9_u64, 1 => 0..200_u64];
    vec((0..6_u8, step, prop_oneof![3 => Just(0_u64), 1 => 0..60_u64]), 1..250).prop_map(|steps| {
        let mut now = 1_431_857_103;
        let at = |(caller, step, late): (u8, u64, u64)| {
            now += step;
            (caller, now - late)
        };
        steps.into_iter().map(at).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Requests, refusals, refused callers and refusals of one's own services are those of the model.
    #[test]
    fn a_replay_does_what_the_model_does(requests in requests(), limit in 1..12_u32, own in 0..7_u8) {
        let minute = Nanos::from_secs(60);
        // An interval of the GCRA is a whole number of ticks where it is 2¹⁰ of them.
        let (interval, burst) = ((1 << 31) * u64::from(limit), 1 + limit / 2);
        let policies = vec![
            Policy::new("fixed", Quota::new(limit, minute)),
            Policy::new("sliding", Quota::new(limit, minute).sliding()),
            Policy::new("gcra", Quota::new(limit, Nanos(interval)).burst(burst)),
        ];
        let models = [
            Model::Fixed { limit: limit.into(), window: 60 * SECOND },
            Model::Sliding { limit: limit.into(), window: 60 * SECOND },
            Model::Gcra { burst: burst.into(), interval: 1 << 10, tick: 1 << 21 },
        ];
        let is_own = |caller: u8| (caller == own).then_some(0);
        let entries: Vec<_> =
            requests.iter().map(|(caller, second)| entry(*caller, second * SECOND, is_own(*caller))).collect();
        let outcome = Outcome::new(&replayed(&entries, policies, &["own".into()]), Vec::new(), None);

        let mut sorted: Vec<(IpAddr, u64)> =
            entries.iter().map(|entry| (entry.caller.address(), entry.time.0)).collect();
        sorted.sort_by_key(|request| request.1);
        prop_assert_eq!(outcome.requests, requests.len() as u64);
        for (policy, model) in outcome.policies.iter().zip(models) {
            let mut refused: BTreeMap<IpAddr, u64> = BTreeMap::new();
            for ((caller, _), is_refused) in sorted.iter().zip(refusals(model, &sorted)) {
                *refused.entry(*caller).or_default() += u64::from(is_refused);
            }
            refused.retain(|_, count| *count > 0);
            prop_assert_eq!(policy.refused, refused.values().sum::<u64>(), "{}", policy.name);
            prop_assert_eq!(policy.refused_callers, refused.len() as u64, "{}", policy.name);
            let of_own = refused.get(&IpAddr::from([198, 18, 0, own])).copied().unwrap_or(0);
            prop_assert_eq!(policy.own_refused, of_own, "{}", policy.name);
            let ranked: u64 = policy.ranked.iter().map(|caller| u64::from(caller.refused)).sum();
            prop_assert_eq!(ranked, policy.refused);
            prop_assert_eq!(policy.refused_over_time.iter().sum::<u64>(), policy.refused);
        }
    }
}
