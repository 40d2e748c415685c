//! The list of throttled callers under the loom model checker: no snapshot mixes two callers, no refusal is invented, and
//! what is told once is told once.
//!
//! `RUSTFLAGS="--cfg tollgate_loom" cargo test --release -p tollgate --features std --test watch_loom`

#![cfg(tollgate_loom)]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use loom::sync::Arc;
use loom::thread;
use tollgate::{Key, Nanos, Noticed, Origin, Seen, Sighting, Watch};

const QUIET: Nanos = Nanos::from_secs(60);
const START: Nanos = Nanos::from_secs(1_000);
const LATER: Nanos = Nanos::from_secs(1_100);

/// Two places.
type Two = Watch<1>;

fn key(caller: u8) -> Key {
    Key::from_fingerprint(u64::from(caller) << 56)
}

fn origin(caller: u8) -> Origin {
    Origin::peer([10, 0, 0, caller].into())
}

/// All that is recorded of a caller tells who it is.
fn refused(caller: u8, now: Nanos) -> Sighting {
    let sighting = Sighting::refused(key(caller), now).origin(origin(caller));
    let sighting = sighting.hint(Key::from_fingerprint(u64::from(caller) << 58));
    if caller.is_multiple_of(2) { sighting.internal() } else { sighting.forged(Key::from_fingerprint(0)) }
}

fn refuse(watch: &Two, caller: u8, now: Nanos) -> Noticed {
    watch.record(&refused(caller, now))
}

/// Whether all of it is of one caller, of which `known` refusals were recorded at most; the caller.
fn whole(seen: &Seen, known: impl Fn(u8) -> u32) -> u8 {
    let caller = seen.key.fingerprint().to_be_bytes()[0];
    assert_eq!(seen.key, key(caller));
    assert_eq!(seen.origin, Some(origin(caller)), "another's address");
    assert_eq!(seen.callers, 1, "another's hint");
    let shares = if caller.is_multiple_of(2) { (0, seen.sightings, 0) } else { (seen.sightings, 0, 1) };
    assert_eq!((seen.forged, seen.internal, seen.credentials), shares, "another's credential or routes");
    assert!(seen.refused >= 1 && seen.refused <= known(caller), "{} of {caller}", seen.refused);
    assert!(seen.sightings <= known(caller));
    caller
}

fn model(preemptions: Option<usize>, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 100_000;
    builder.check(body);
}

fn spawn<T: 'static>(watch: &Arc<Two>, work: fn(&Two) -> T) -> thread::JoinHandle<T> {
    let watch = Arc::clone(watch);
    thread::spawn(move || work(&watch))
}

/// The first place is a heavy caller's; the second is 2's, which has one refusal, as many as found no place.
fn full() -> Two {
    let watch = Two::new(QUIET);
    for _ in 0..4 {
        _ = refuse(&watch, 1, START);
    }
    assert_eq!(refuse(&watch, 2, START), Noticed::Refused);
    assert_eq!(refuse(&watch, 9, START), Noticed::Overlooked);
    watch
}

// 3 displaces 2 while a thread is still writing for 2.
#[test]
fn no_snapshot_mixes_a_caller_and_its_successor() {
    model(Some(3), || {
        let watch = Arc::new(full());
        let late = spawn(&watch, |watch| _ = refuse(watch, 2, START));
        let next = spawn(&watch, |watch| _ = refuse(watch, 3, START));
        let known = |caller| [0, 4, 2, 1].get(usize::from(caller)).copied().unwrap_or(0);
        let listed = watch.snapshot(START).filter(|seen| whole(seen, known) > 0).count();
        assert!(listed <= 2);
        late.join().unwrap();
        next.join().unwrap();
        let heavy = watch.snapshot(START).find(|seen| whole(seen, known) == 1);
        assert_eq!(heavy.map(|seen| seen.refused), Some(4), "nobody displaces the heavy caller");
    });
}

// 3 takes the place of 2 and writes there while a reader looks on.
#[test]
fn a_reader_sees_one_of_two_callers_whole() {
    model(Some(3), || {
        let watch = Arc::new(full());
        let next = spawn(&watch, |watch| _ = refuse(watch, 3, START));
        let known = |caller| [0, 4, 1, 1].get(usize::from(caller)).copied().unwrap_or(0);
        watch.snapshot(START).for_each(|seen| _ = whole(&seen, known));
        next.join().unwrap();
        assert!(
            watch.snapshot(START).any(|seen| whole(&seen, known) == 3),
            "one that nobody disturbed is listed"
        );
    });
}

// Two newcomers for one place, each with two refusals.
#[test]
fn two_newcomers_take_one_place() {
    model(Some(3), || {
        let watch = Arc::new(full());
        let other = spawn(&watch, |watch| (refuse(watch, 3, START), refuse(watch, 3, START)));
        let mine = (refuse(&watch, 4, START), refuse(&watch, 4, START));
        let other = other.join().unwrap();
        for noticed in [mine, other] {
            assert!(noticed.0 != Noticed::Again, "listed before it came");
        }
        let known = |caller| [0, 4, 1, 2, 2].get(usize::from(caller)).copied().unwrap_or(0);
        let lost = watch.lost();
        let (mut listed, mut refusals) = (0, 0);
        for seen in watch.snapshot(START) {
            let caller = whole(&seen, known);
            listed += 1;
            refusals += seen.refused;
            assert!(u64::from(seen.missed) <= lost.refusals);
            assert!(known(caller) <= seen.refused + seen.missed, "{caller}: {seen:?}");
        }
        assert!(listed <= 2 && refusals >= 4);
    });
}

#[test]
fn one_caller_in_two_threads_has_one_place_and_becomes_refused_once() {
    model(Some(3), || {
        let watch = Arc::new(Two::new(QUIET));
        let other = spawn(&watch, |watch| refuse(watch, 3, START));
        let noticed = [refuse(&watch, 3, START), other.join().unwrap()];
        assert_eq!(noticed.iter().filter(|&&noticed| noticed == Noticed::Refused).count(), 1, "{noticed:?}");
        let seen: [Seen; 1] = core::array::from_fn(|_| {
            let mut all = watch.snapshot(START);
            let seen = all.next().unwrap();
            assert!(all.next().is_none());
            seen
        });
        assert_eq!(whole(&seen[0], |_| 2), 3);
        // What was counted before its entry was written may be missed, and is told as that.
        assert_eq!(seen[0].refused + seen[0].missed, 2);
        assert_eq!(u64::from(seen[0].sightings) + watch.lost().details, 2);
    });
}

fn sweep(watch: &Two) -> usize {
    watch.recovered(LATER).filter(|seen| whole(seen, |_| 1) == 2).count()
}

#[test]
fn a_recovery_is_told_once() {
    model(None, || {
        let watch = Two::new(QUIET);
        assert_eq!(refuse(&watch, 2, START), Noticed::Refused);
        let watch = Arc::new(watch);
        let other = spawn(&watch, sweep);
        let told = sweep(&watch) + other.join().unwrap();
        assert_eq!((told, watch.snapshot(LATER).count()), (1, 0));
    });
}

#[test]
fn a_spell_begins_anew_while_the_last_one_is_told() {
    model(Some(3), || {
        let watch = Two::new(QUIET);
        assert_eq!(refuse(&watch, 2, START), Noticed::Refused);
        let watch = Arc::new(watch);
        let other = spawn(&watch, sweep);
        assert_eq!(refuse(&watch, 2, LATER), Noticed::Refused, "a new spell");
        assert!(other.join().unwrap() <= 1);
        let seen = watch.snapshot(LATER).next().unwrap();
        assert_eq!((whole(&seen, |_| 1), seen.refused, seen.first.0 >> 34), (2, 1, LATER.0 >> 34));
        assert_eq!(watch.recovered(LATER).count(), 0, "it has not recovered from this one");
    });
}
