//! The list of throttled callers against a slow model: a vector of places, sets of what was seen, and plain numbers.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{Key, Nanos, Noticed, Seen, Sighting, Watch};

/// Times are multiples of a tick, of which the quiet span has eight; all that is rounded is exact then.
const TICK: u64 = 1 << 30;
const QUIET_TICKS: u64 = 8;
const START: u64 = 1_000;
/// Fewer than the ring has.
const MOST_TICKS: u64 = 230;

#[derive(Clone, Copy, Debug)]
struct Request {
    caller: u64,
    refused: bool,
    gap: u64,
    hint: Option<u64>,
    credential: Option<u64>,
    internal: bool,
    /// Whether somebody asks who has recovered.
    asks: bool,
}

fn key(caller: u64) -> Key {
    Key::from_fingerprint(caller << 40)
}

impl Request {
    fn sighting(&self, tick: u64) -> Sighting {
        let (key, now) = (key(self.caller), Nanos(tick * TICK));
        let mut sighting = if self.refused { Sighting::refused(key, now) } else { Sighting::near(key, now) };
        if let Some(hint) = self.hint {
            sighting = sighting.hint(Key::from_fingerprint(hint << 58));
        }
        if let Some(credential) = self.credential {
            // In the middle of its share of all numbers.
            sighting = sighting.forged(Key::from_fingerprint(u64::MAX / 24 * credential + u64::MAX / 48));
        }
        if self.internal { sighting.internal() } else { sighting }
    }
}

fn request() -> impl Strategy<Value = Request> {
    let caller = prop_oneof![3 => 1..4_u64, 2 => 4..12_u64, 1 => 12..60_u64];
    let gap = prop_oneof![30 => Just(0), 5 => 1..3_u64, 1 => 7..12_u64];
    let (hint, credential) = (prop::option::of(0..64_u64), prop::option::of(0..24_u64));
    (caller, prop::bool::weighted(0.8), gap, hint, credential, any::<bool>(), prop::bool::weighted(0.1))
        .prop_map(|(caller, refused, gap, hint, credential, internal, asks)| Request {
            caller,
            refused,
            gap,
            hint,
            credential,
            internal,
            asks,
        })
}

/// One listed caller.
#[derive(Clone, Default, Debug)]
struct Place {
    caller: u64,
    was_refused: bool,
    weight: u64,
    base: u64,
    first: u64,
    last: u64,
    sightings: u32,
    forged: u32,
    internal: u32,
    hints: BTreeSet<u64>,
    credentials: BTreeSet<u64>,
}

impl Place {
    fn is_over(&self, tick: u64) -> bool {
        tick - self.last > QUIET_TICKS
    }

    fn note(&mut self, request: &Request, tick: u64) {
        if request.refused || !self.was_refused {
            self.last = tick;
        }
        self.was_refused |= request.refused;
        self.weight += u64::from(request.refused);
        self.sightings += 1;
        self.forged += u32::from(request.credential.is_some());
        self.internal += u32::from(request.internal);
        self.hints.extend(request.hint);
        self.credentials.extend(request.credential);
    }
}

#[derive(Default)]
struct Oracle {
    places: Vec<Option<Place>>,
    overlooked: u64,
    near: u64,
    displaced: u64,
    untold: u64,
    /// Each caller's refusals in its present spell, listed or not, and the last one.
    truth: BTreeMap<u64, (u64, u64)>,
}

impl Oracle {
    fn record(&mut self, request: &Request, tick: u64) -> Noticed {
        if request.refused {
            let (count, last) = self.truth.entry(request.caller).or_insert((0, tick));
            *count = if tick - *last > QUIET_TICKS { 1 } else { *count + 1 };
            *last = tick;
        }
        let own = self
            .places
            .iter()
            .position(|place| place.as_ref().is_some_and(|place| place.caller == request.caller));
        if let Some(own) = own
            && let Some(place) = &mut self.places[own]
            && !place.is_over(tick)
        {
            let first = request.refused && !place.was_refused;
            place.note(request, tick);
            return if first { Noticed::Refused } else { Noticed::Again };
        }
        let Some(index) = own.or_else(|| self.free(request.refused, tick)) else {
            if request.refused {
                self.overlooked += 1;
            } else {
                self.near += 1;
            }
            return Noticed::Overlooked;
        };
        let gone = self.places[index].take();
        let is_displaced = own.is_none() && gone.as_ref().is_some_and(|gone| !gone.is_over(tick));
        let gone = gone.filter(|gone| gone.was_refused);
        if own.is_none()
            && let Some(gone) = &gone
        {
            *(if gone.is_over(tick) { &mut self.untold } else { &mut self.displaced }) += 1;
        }
        let mut place = Place {
            caller: request.caller,
            weight: self.overlooked,
            base: self.overlooked,
            first: tick,
            ..Place::default()
        };
        place.note(request, tick);
        self.places[index] = Some(place);
        match gone {
            _ if is_displaced => Noticed::Displacing,
            _ if request.refused => Noticed::Refused,
            Some(_) if own.is_some() => Noticed::Recovered,
            _ => Noticed::Near,
        }
    }

    /// A vacant place, or one whose spell is over, those never refused first, or the lightest that is light enough.
    fn free(&self, refused: bool, tick: u64) -> Option<usize> {
        let lightest = |may: &dyn Fn(&Place) -> bool| {
            let places = self.places.iter().enumerate();
            let weights = places.filter_map(|(index, place)| {
                Some((place.as_ref().filter(|place| may(place))?.weight, index))
            });
            weights.min().map(|(_, index)| index)
        };
        let vacant = self.places.iter().position(Option::is_none);
        let over = lightest(&|place| place.is_over(tick) && !place.was_refused);
        let recovered = lightest(&|place| place.is_over(tick));
        let light = lightest(&|place| refused && place.weight <= self.overlooked);
        vacant.or(over).or(recovered).or(light)
    }

    fn recovered(&mut self, tick: u64) -> Vec<Place> {
        let over =
            self.places.iter_mut().filter(|place| place.as_ref().is_some_and(|place| place.is_over(tick)));
        over.filter_map(Option::take).filter(|place| place.was_refused).collect()
    }
}

fn agrees(seen: &Seen, place: &Place) -> bool {
    let callers = 64.0 * (64.0 / (64.0 - f64::from(u32::try_from(place.hints.len()).unwrap()))).ln();
    let counts =
        (u64::from(seen.refused), u64::from(seen.missed), seen.sightings, seen.forged, seen.internal);
    seen.key == key(place.caller)
        && counts == (place.weight - place.base, place.base, place.sightings, place.forged, place.internal)
        && (seen.first.0, seen.last.0) == (place.first * TICK, place.last * TICK)
        && (place.hints.len() == 64 || (f64::from(seen.callers) - callers).abs() <= 0.5)
        && usize::from(seen.credentials) == place.credentials.len()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn lists_whom_the_oracle_lists(requests in vec(request(), 1..400)) {
        let watch = Watch::<1>::new(Nanos(QUIET_TICKS * TICK));
        let mut oracle = Oracle { places: vec![None; watch.capacity()], ..Oracle::default() };
        let mut tick = START;
        for request in requests {
            tick = (tick + request.gap).min(START + MOST_TICKS);
            if request.asks {
                let (told, expected) = (watch.recovered(Nanos(tick * TICK)).collect::<Vec<_>>(), oracle.recovered(tick));
                prop_assert_eq!(told.len(), expected.len());
                prop_assert!(told.iter().zip(&expected).all(|(seen, place)| agrees(seen, place)), "{told:?}\n{expected:?}");
            }
            prop_assert_eq!(watch.record(&request.sighting(tick)), oracle.record(&request, tick));
            let seen: Vec<_> = watch.snapshot(Nanos(tick * TICK)).collect();
            let expected: Vec<_> = oracle.places.iter().flatten().filter(|place| !place.is_over(tick)).collect();
            prop_assert_eq!(seen.len(), expected.len());
            prop_assert!(seen.iter().zip(&expected).all(|(seen, place)| agrees(seen, place)), "{seen:?}\n{expected:?}");
            let lost = watch.lost();
            prop_assert_eq!((lost.refusals, lost.near), (oracle.overlooked, oracle.near));
            prop_assert_eq!((lost.callers, lost.recoveries, lost.details), (oracle.displaced, oracle.untold, 0));

            // What is promised, from the truth alone.
            for (&caller, &(count, last)) in &oracle.truth {
                if tick - last > QUIET_TICKS {
                    continue;
                }
                match seen.iter().find(|seen| seen.key == key(caller)) {
                    Some(seen) => {
                        prop_assert!(u64::from(seen.refused) <= count, "{caller} has {count}: {seen:?}");
                        prop_assert!(count <= u64::from(seen.refused + seen.missed), "{caller} has {count}: {seen:?}");
                    }
                    None => prop_assert!(count <= lost.refusals, "{caller} has {count}, and {} were overlooked", lost.refusals),
                }
            }
        }
    }
}
