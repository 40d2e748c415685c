//! The list of throttled callers by its public face; `watch_oracle.rs` has a slow model of it, `watch_loom.rs` every
//! interleaving, `watch_incident.rs` what it tells of the incident's callers.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use tollgate::{
    Credentials, Key, Keyer, Limiter, Nanos, Noticed, Origin, Presented, Quota, Seen, Sighting, Watch,
};

const KEYER: Keyer = Keyer::new(*b"a seed for tests");
const QUIET: Nanos = Nanos::from_secs(60);
const NOW: Nanos = Nanos::from_secs(100_000);

fn key(caller: u64) -> Key {
    KEYER.bytes(&caller.to_le_bytes())
}

fn refuse<const N: usize>(watch: &Watch<N>, caller: u64, now: Nanos) -> Noticed {
    watch.record(&Sighting::refused(key(caller), now))
}

fn later(secs: u64) -> Nanos {
    NOW.saturating_add(Nanos::from_secs(secs))
}

fn find<const N: usize>(watch: &Watch<N>, caller: u64, now: Nanos) -> Option<Seen> {
    watch.snapshot(now).find(|seen| seen.key == key(caller))
}

#[test]
fn a_spell_begins_ends_and_is_told_once() {
    let watch = Watch::<1>::new(QUIET);
    let near = |now| watch.record(&Sighting::near(key(1), now));
    assert_eq!((near(NOW), near(later(1))), (Noticed::Near, Noticed::Again));
    let seen = find(&watch, 1, later(1)).unwrap();
    assert_eq!((seen.refused, seen.sightings), (0, 2));
    assert_eq!(refuse(&watch, 1, later(2)), Noticed::Refused);
    assert_eq!((refuse(&watch, 1, later(50)), near(later(51))), (Noticed::Again, Noticed::Again));
    let seen = find(&watch, 1, later(51)).unwrap();
    assert_eq!((seen.refused, seen.sightings), (2, 5));
    assert!(seen.first <= NOW && seen.first >= Nanos(NOW.0 - (1 << 30)));
    assert!(seen.last <= later(50) && seen.last >= Nanos(later(50).0 - (1 << 24)), "the last refusal");

    // It is listed till the span is over, whatever it does near its limit.
    assert_eq!((near(later(109)), watch.recovered(later(110)).count()), (Noticed::Again, 0));
    assert!(find(&watch, 1, later(110)).is_some());
    let over = later(50 + 75);
    assert!(find(&watch, 1, over).is_none(), "a quarter more than the span is enough");
    assert_eq!(watch.recovered(over).map(|seen| seen.refused).collect::<Vec<_>>(), [2]);
    assert_eq!(watch.recovered(over).count(), 0);

    // Recovery is told by the next admission near the limit, if nobody asked, and a refusal begins a spell.
    assert_eq!(refuse(&watch, 1, later(200)), Noticed::Refused);
    assert_eq!((near(later(300)), near(later(301))), (Noticed::Recovered, Noticed::Again));
    assert_eq!(find(&watch, 1, later(301)).map(|seen| (seen.refused, seen.sightings)), Some((0, 2)));
    assert_eq!(watch.recovered(later(400)).count(), 0, "one that was near its limit leaves unnoticed");
    assert_eq!(
        (refuse(&watch, 1, later(500)), refuse(&watch, 1, later(600))),
        (Noticed::Refused, Noticed::Refused)
    );
    watch.clear();
    assert_eq!((watch.snapshot(later(600)).count(), watch.lost()), (0, tollgate::Lost::default()));
}

// A place that weighs w costs w refusals, so a flood of strangers flushes nobody that weighs more than they all.
#[test]
fn strangers_flush_no_heavy_caller() {
    let watch = Watch::<1>::new(QUIET);
    for caller in 0..7 {
        (0..1_000).for_each(|_| _ = refuse(&watch, caller, NOW));
    }
    for stranger in 0..1_000 {
        assert_eq!(refuse(&watch, 1_000 + stranger, NOW), Noticed::Overlooked);
    }
    assert!((0..7).all(|caller| find(&watch, caller, NOW).unwrap().refused == 1_000));
    // One more takes the place of the lightest; of those that weigh the same, of the first.
    (1..7).for_each(|caller| _ = refuse(&watch, caller, NOW));
    assert_eq!(refuse(&watch, 9_999, NOW), Noticed::Displacing);
    let newcomer = find(&watch, 9_999, NOW).unwrap();
    assert_eq!((newcomer.refused, newcomer.missed), (1, 1_000));
    assert!(find(&watch, 0, NOW).is_none() && (1..7).all(|caller| find(&watch, caller, NOW).is_some()));
    let lost = watch.lost();
    assert_eq!((lost.refusals, lost.callers, lost.near, lost.details), (1_000, 1, 0, 0));
    // One that is merely near its limit displaces nobody whose spell lasts, and those whose spell is over make way.
    assert_eq!(watch.record(&Sighting::near(key(5_000), NOW)), Noticed::Overlooked);
    assert_eq!(watch.record(&Sighting::near(key(5_000), later(75))), Noticed::Near);
    assert_eq!((watch.lost().near, watch.lost().recoveries), (1, 1));
}

#[test]
fn a_verdict_is_recorded_only_near_the_limit_and_on_the_caller_s_own_count() {
    for limit in [1, 3, 5, 300] {
        let gate = Limiter::<2>::new(Quota::per_minute(limit));
        let sighting = |_| Sighting::of(&gate.check(key(1), Presented::Absent, NOW), key(1), NOW);
        let recorded: Vec<_> = (0..=limit).map(sighting).collect();
        // The request that uses 80 %, rounded up.
        let first = (4 * limit).div_ceil(5) as usize - 1;
        let (quiet, told) = recorded.split_at(first);
        assert!(quiet.iter().all(Option::is_none), "{limit}");
        let (refused, near) = told.split_last().unwrap();
        assert!(near.iter().all(|sighting| *sighting == Some(Sighting::near(key(1), NOW))), "{limit}");
        assert_eq!(*refused, Some(Sighting::refused(key(1), NOW)));
    }
    // A newcomer whom a full table refuses is no caller that is throttled.
    let full = Limiter::<2>::new(Quota::per_minute(10)).with_overflow(tollgate::Overflow::Refuse);
    let refused: Vec<_> = (0..100)
        .map(|caller| full.check(key(caller), Presented::Absent, NOW))
        .filter(|verdict| !verdict.passes())
        .collect();
    assert!(
        !refused.is_empty() && refused.iter().all(|verdict| Sighting::of(verdict, key(1), NOW).is_none())
    );
    let own = Credentials::<1>::new().with("edge", b"sixteen or more bytes").unwrap();
    let exempt = full.check(key(1), own.verify(Some(b"sixteen or more bytes")), NOW);
    assert_eq!(Sighting::of(&exempt, key(1), NOW), None);
}

#[test]
fn nothing_allocates_and_a_list_is_as_large_as_it_says() {
    static WATCH: Watch<4> = Watch::new(QUIET);
    assert_eq!((size_of_val(&WATCH), WATCH.capacity()), (4 * 512 + 64, 28));
    let work = || {
        for number in 0..10_000 {
            let now = later(number / 10);
            let sighting =
                Sighting::refused(key(number % 100), now).hint(key(number)).forged(key(number / 3));
            let sighting = sighting.internal().origin(address(1));
            _ = std::hint::black_box(WATCH.record(&sighting));
            if number % 100 == 0 {
                std::hint::black_box((
                    WATCH.snapshot(now).count(),
                    WATCH.recovered(now).count(),
                    WATCH.lost(),
                ));
            }
        }
        WATCH.clear();
    };
    assert_eq!(allocation_counter::measure(work).count_total, 0);
}

fn address(caller: u8) -> Origin {
    Origin::peer([10, 0, 0, caller].into())
}

/// What is recorded of a caller tells who it is.
fn telling(caller: u8) -> Sighting {
    let sighting = Sighting::refused(key(caller.into()), NOW).origin(address(caller));
    let sighting = sighting.hint(Key::from_fingerprint(u64::from(caller) << 58));
    if caller.is_multiple_of(2) { sighting.internal() } else { sighting.forged(key(0)) }
}

// Threads that count, others that displace each other's callers, and one that reads all the while.
#[test]
fn threads_lose_no_refusal_and_a_reader_sees_whole_callers() {
    const EACH: u32 = 30_000;
    static WATCH: Watch<1> = Watch::new(QUIET);
    // They come first, so that no newcomer ever weighs as much.
    for heavy in [1, 2] {
        (0..2 * EACH).for_each(|_| _ = WATCH.record(&telling(heavy)));
    }
    let (details, done) = (WATCH.lost().details, AtomicBool::new(false));
    assert_eq!(details, 0);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(Relaxed) {
                for seen in WATCH.snapshot(NOW) {
                    let Some(caller) = (0..64).find(|&caller| key(caller.into()) == seen.key) else {
                        panic!("{seen:?}")
                    };
                    assert_eq!((seen.origin, seen.callers), (Some(address(caller)), 1));
                    let shares = if caller % 2 == 0 { (0, seen.sightings) } else { (seen.sightings, 0) };
                    assert_eq!((seen.forged, seen.internal), shares);
                }
            }
        });
        let writers: Vec<_> = (0..3_u32)
            .map(|thread| {
                scope.spawn(move || {
                    for number in 0..EACH {
                        let light = u8::try_from(3 + (number * 7 + thread) % 60).unwrap();
                        for caller in [1, 2, light] {
                            _ = WATCH.record(&telling(caller));
                        }
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Relaxed);
        reader.join().unwrap();
    });
    for heavy in [1, 2] {
        let seen = WATCH.snapshot(NOW).find(|seen| seen.key == key(heavy)).unwrap();
        assert_eq!((seen.refused, seen.missed), (5 * EACH, 0));
    }
}
