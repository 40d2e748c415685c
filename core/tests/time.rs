//! Clocks that stand, jump, run backwards, disagree and come round. Abuse 16 and 17.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use tollgate::{BoxedLimiter, Key, Keyer, Nanos, Overflow, Presented, Quota, Verdict};

const KEYER: Keyer = Keyer::new(*b"a seed for tests");
const HOUR: u64 = 3_600_000_000_000;
const MINUTE: u64 = 60_000_000_000;

fn key(caller: u32) -> Key {
    KEYER.bytes(&caller.to_le_bytes())
}

fn limiter(limit: u32) -> BoxedLimiter {
    BoxedLimiter::with_capacity(Quota::per_minute(limit), 64).unwrap()
}

/// How many of `requests` pass.
fn passed(limiter: &BoxedLimiter, caller: u32, now: u64, requests: u32) -> u32 {
    let pass = |_: &u32| limiter.check(key(caller), Presented::Absent, Nanos(now)).passes();
    u32::try_from((0..requests).filter(pass).count()).unwrap()
}

fn wait(limiter: &BoxedLimiter, caller: u32, now: u64) -> u64 {
    match limiter.check(key(caller), Presented::Absent, Nanos(now)) {
        Verdict::Refused(refusal) => refusal.retry_after.0,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn the_ends_of_time() {
    for now in [0, 1, 2, MINUTE, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX - MINUTE, u64::MAX - 1, u64::MAX] {
        let limiter = limiter(5);
        assert_eq!(passed(&limiter, 1, now, 20), 5, "at {now}");
        // From one end to the other and back.
        for then in [0, u64::MAX, now] {
            assert!(passed(&limiter, 1, then, 20) <= 5, "at {then} after {now}");
            assert!(passed(&limiter, 2, then, 20) <= 5, "at {then} after {now}");
        }
    }
}

#[test]
fn the_last_moment_of_time_still_limits() {
    let limiter = limiter(5);
    assert_eq!(passed(&limiter, 1, u64::MAX, 100), 5);
    assert!(wait(&limiter, 1, u64::MAX) > 0);
}

#[test]
fn a_clock_that_falls_back_locks_nobody_out_for_more_than_a_window() {
    for back in [1, MINUTE / 100, MINUTE / 2, MINUTE, HOUR, 8 * HOUR] {
        let limiter = limiter(5);
        let now = 100 * HOUR;
        assert_eq!(passed(&limiter, 1, now, 20), 5);
        let then = now - back;
        assert_eq!(passed(&limiter, 1, then, 20), 0, "no budget for a clock that fell back by {back}");
        let wait = wait(&limiter, 1, then);
        assert!(wait <= MINUTE + MINUTE / 100, "{back}: told to wait {wait}");
        assert_eq!(passed(&limiter, 1, then + wait, 20), 5, "{back}");
    }
}

#[test]
fn a_clock_that_jumps_ahead_grants_one_window() {
    for ahead in [MINUTE, HOUR, 8 * HOUR, 1000 * HOUR] {
        let limiter = limiter(5);
        let now = 100 * HOUR;
        assert_eq!(passed(&limiter, 1, now, 20), 5);
        assert_eq!(passed(&limiter, 1, now + ahead, 20), 5);
        // And back again: nobody gains another window before one has passed.
        assert_eq!(passed(&limiter, 1, now, 20), 0);
        assert_eq!(passed(&limiter, 1, now + MINUTE / 2, 20), 0);
        assert_eq!(passed(&limiter, 1, now + MINUTE + MINUTE / 100, 20), 5);
    }
}

/// Threads whose clocks disagree by d may open a window d early, and no more: over many windows the callers of
/// two clocks get no more than one clock shifted by d would give.
#[test]
fn clocks_that_disagree_by_ten_milliseconds() {
    let disagreement = 10_000_000;
    for quota in [Quota::per_second(7), Quota::per_minute(7), Quota::new(7, Nanos::from_millis(100))] {
        let limiter = BoxedLimiter::with_capacity(quota, 64).unwrap();
        let window = quota.window().0;
        let mut admitted = Vec::new();
        for step in 0..20_000 {
            let now = 10 * HOUR + step * window / 1000;
            let reading = if step % 2 == 0 { now } else { now + disagreement };
            if limiter.check(key(1), Presented::Absent, Nanos(reading)).passes() {
                admitted.push(now);
            }
        }
        // Each group of seven comes a window after the one before it, less the disagreement and the rounding.
        for pair in admitted.chunks(7).collect::<Vec<_>>().windows(2) {
            let gap = pair[1][0] - pair[0][0];
            assert!(gap + disagreement + window / 500 >= window, "{quota:?}: windows only {gap} ns apart");
        }
        assert!(admitted.len() >= 7 * 19, "{quota:?}: {} admitted", admitted.len());
    }
}

/// A caller that comes back after any number of windows finds its limit, or, once the ring has come round, at
/// most one window more of waiting; a sweep within half a ring prevents that.
#[test]
fn the_ring_comes_round() {
    // A limit of 4,194,303 leaves 14 bits for the time: a ring of 16,384 ticks, under six windows.
    let quota = Quota::new(4_194_303, Nanos(3000));
    for swept in [false, true] {
        for absent in 1..200_u64 {
            let limiter = BoxedLimiter::with_capacity(quota, 64).unwrap();
            let now = 1_000_000;
            assert_eq!(passed(&limiter, 1, now, 10), 10);
            if swept {
                assert_eq!(limiter.sweep(Nanos(now + 3000)), 1);
            }
            let then = now + 3000 * absent;
            let Verdict::Admitted(first) = limiter.check(key(1), Presented::Absent, Nanos(then)) else {
                panic!("refused far below the limit")
            };
            assert!(first.remaining == quota.limit() - 1 || !swept && first.remaining == quota.limit() - 11);
            let resets = first.resets_in.0;
            // On so short a ring a lead of 1/64 of it is kept.
            assert!(resets <= 3000 + 16_384 / 64, "{absent} windows: resets in {resets}");
            let Verdict::Admitted(next) = limiter.check(key(1), Presented::Absent, Nanos(then + resets))
            else {
                panic!("refused far below the limit")
            };
            assert_eq!(next.remaining, quota.limit() - 1, "{absent} windows");
        }
    }
}

#[test]
fn every_tick_of_a_ring_limits() {
    // 2,048 ticks to the window, 8,192 to the ring: one request a tick, three rings long, and the tick at which
    // the ring's time is zero among them.
    let quota = Quota::new(8_388_607, Nanos(2048));
    let limiter = BoxedLimiter::with_capacity(quota, 64).unwrap();
    for now in 0..3 * 8192 {
        let Verdict::Admitted(standing) = limiter.check(key(1), Presented::Absent, Nanos(now)) else {
            panic!()
        };
        let used = u32::try_from(now % 2048).unwrap() + 1;
        assert_eq!(quota.limit() - standing.remaining, used, "at {now}");
        assert_eq!(standing.resets_in.0, 2048 - now % 2048, "at {now}");
    }
}

/// Strangers' words that lie ahead are brought to now by whoever finds no room, or by a sweep: their owners may never
/// come back.
#[test]
fn words_of_others_that_lie_ahead_block_nobody_for_more_than_a_window() {
    for overflow in [Overflow::Inherit, Overflow::Refuse] {
        for (ahead, swept) in [(8 * HOUR, false), (8 * HOUR, true), (MINUTE, false), (1000 * HOUR, false)] {
            let limiter =
                BoxedLimiter::with_capacity(Quota::per_minute(1), 16).unwrap().with_overflow(overflow);
            let now = 10_000 * HOUR;
            (0..100).for_each(|caller| _ = passed(&limiter, caller, now + ahead, 1));
            if swept {
                limiter.sweep(Nanos(now));
            }
            let wait = wait(&limiter, 1000, now);
            assert!(wait <= MINUTE + MINUTE / 100, "{overflow:?}, {ahead}: told to wait {wait}");
            assert_eq!(passed(&limiter, 1000, now + wait, 5), 1, "{overflow:?}, {ahead}, swept {swept}");
        }
    }
}

/// Half a ring later untouched words seem to lie ahead; they are room again after a window at most.
#[test]
fn words_that_half_a_ring_has_passed_block_nobody_for_more_than_a_window() {
    for limit in [1, 300, 1_000_000] {
        let quota = Quota::per_minute(limit);
        let half_ring = 2 * BoxedLimiter::with_capacity(quota, 16).unwrap().sweep_interval().0;
        for late in [MINUTE / 2, half_ring / 2, half_ring - 2 * MINUTE] {
            let limiter = BoxedLimiter::with_capacity(quota, 16).unwrap().with_overflow(Overflow::Refuse);
            (0..100).for_each(|caller| _ = passed(&limiter, caller, HOUR, 1));
            let now = HOUR + half_ring + late;
            let wait = wait(&limiter, 1000, now);
            assert!(wait <= MINUTE, "{limit}: told to wait {wait}");
            assert!(passed(&limiter, 1000, now + wait, 1) == 1, "{limit}, {late}");
        }
    }
}

/// Where a word is made over another's of the same tick its window may end late, by no more than 1/128 of a window; and
/// the wait that is told is the wait that is enforced.
#[test]
fn a_takeover_ends_a_window_late_by_little_and_says_so() {
    let limiter =
        BoxedLimiter::with_capacity(Quota::per_minute(1), 16).unwrap().with_overflow(Overflow::Forget);
    for newcomer in 0..100_000 {
        let Verdict::Admitted(standing) = limiter.check(key(newcomer), Presented::Absent, Nanos(HOUR)) else {
            continue;
        };
        let resets_in = standing.resets_in.0;
        assert!(resets_in <= MINUTE + MINUTE / 128, "{newcomer}: {resets_in}");
        if newcomer % 1000 == 0 {
            assert_eq!(passed(&limiter, newcomer, HOUR + resets_in - 1, 1), 0);
            assert_eq!(passed(&limiter, newcomer, HOUR + resets_in, 1), 1);
        }
    }
}
