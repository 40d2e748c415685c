//! States that are kept outside a table, and notes beside one: accounts against limiters, notes against a map.

use hashbrown::HashMap;
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{Account, BoxedLimiter, BoxedNotes, Key, Nanos, Note, Presented, Quota, Verdict};

const KEY: Key = Key::from_fingerprint(0x1234_5678_9abc_def0);
const MINUTE: Nanos = Nanos::from_secs(60);

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

fn quotas() -> impl Strategy<Value = Quota> {
    (1_u32..20, 2_048_u64..100_000_000_000, 0..4_u8).prop_map(|(limit, window, kind)| {
        let window = Nanos(window);
        match kind {
            0 => Quota::new(limit, window),
            1 => Quota::new(limit, window).sliding(),
            2 => Quota::new(limit, window).burst(limit),
            _ => Quota::at_most(limit + 1).in_any(window),
        }
    })
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Charge(u32),
    Refund,
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<(Step, i64)>> {
    let step =
        prop_oneof![8 => (0..4_u32).prop_map(Step::Charge), 1 => Just(Step::Refund), 1 => Just(Step::Clear)];
    // A part of the window passes, in thousandths; now and then the clock runs back.
    vec((step, prop_oneof![8 => 0..400_i64, 1 => 900..2_500_i64, 1 => -1_500..0_i64]), 1..60)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_account_answers_as_a_limiter_with_room(quota in quotas(), steps in steps()) {
        let account = Account::new(quota).unwrap();
        let limiter = BoxedLimiter::with_capacity(quota, 16).unwrap();
        prop_assert_eq!((account.limit(), account.window()), (limiter.limit(), limiter.enforced_window()));
        let (mut state, mut receipt, mut now) = (None, None, 100 * quota.window().0);
        for (step, passes) in steps {
            let by = i128::from(passes) * i128::from(quota.window().0) / 1_000;
            now = u64::try_from((i128::from(now) + by).max(0)).unwrap();
            let at = Nanos(now);
            match step {
                Step::Charge(cost) => {
                    let (after, verdict) = account.charge(KEY, state, at, cost);
                    prop_assert_eq!(verdict, limiter.check_n(KEY, Presented::Absent, at, cost));
                    state = after;
                    if let Verdict::Admitted(standing) = verdict && cost > 0 {
                        receipt = Some(standing.receipt);
                        prop_assert!(account.lasts(state.unwrap(), at) <= account.over_in(state.unwrap(), at));
                    }
                }
                Step::Refund => {
                    let Some(receipt) = receipt.take() else { continue };
                    let after = state.and_then(|state| account.refund(state, &receipt, at));
                    prop_assert_eq!(after.is_some(), limiter.refund(receipt, at));
                    state = after.or(state);
                }
                Step::Clear => {
                    state = state.map(|state| account.cleared(state, at));
                    limiter.clear(KEY, at);
                }
            }
        }
    }

    #[test]
    fn notes_are_a_map_that_forgets(steps in vec((0..6_u64, 0..3_u8, 0..70_000_u64, 0..3_000_u32, 0..20_000_u64), 1..80)) {
        let notes = BoxedNotes::with_capacity(MINUTE, 2_047, 64).unwrap();
        // A tick of a minute's notes.
        let tick = 1_u64 << 24;
        let mut map: HashMap<u64, (u64, u32)> = HashMap::new();
        let mut now = 1_000_000_000_000;
        for (caller, what, lasts, number, passes) in steps {
            now += passes * 1_000_000;
            let key = Key::from_fingerprint((caller + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let lasts = lasts * 1_000_000;
            let known = map.get(&caller).copied().filter(|&(until, _)| until > now / tick);
            let read = notes.read(key, Nanos(now));
            prop_assert_eq!(read.map(|note| note.number), known.map(|(_, number)| number));
            prop_assert_eq!(read.map(|note| (now + note.lasts.0) / tick), known.map(|(until, _)| until));
            match what {
                0 => {
                    let note = Note { lasts: Nanos(lasts), number };
                    notes.update(key, Nanos(now), |_| Some(note));
                    let until = (now + lasts) / tick;
                    map.insert(caller, (until.min(now / tick + MINUTE.0 / tick), number.min(2_047)));
                }
                1 => {
                    let spent = |note: Option<Note>| {
                        let note = note?;
                        Some(Note { number: note.number.checked_sub(1)?, ..note })
                    };
                    let spent = notes.update(key, Nanos(now), spent).map(|note| note.number);
                    prop_assert_eq!(spent, known.and_then(|(_, number)| number.checked_sub(1)));
                    if let Some(left) = spent {
                        map.entry(caller).and_modify(|known| known.1 = left);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The inputs of `states.tsv`, which scripts in stores are held to as well.
#[test]
fn states_and_answers_are_those_of_the_vectors() {
    let quotas = [
        ("fixed", Quota::per_minute(300)),
        ("fixed", Quota::new(3, Nanos(2_048))),
        ("sliding", Quota::per_minute(300).sliding()),
        ("sliding", Quota::new(5, Nanos::from_secs(1)).sliding()),
        ("gcra", Quota::per_minute(300).burst(50)),
        ("gcra", Quota::per_second(1_000_000).burst(1_000)),
    ];
    let mut lines =
        String::from("kind\tlimit\twindow\tburst\tstate\tnow\tcost\tafter\tanswer\tremaining\twait\n");
    for (kind, quota) in quotas {
        let account = Account::new(quota).unwrap();
        let (mut state, mut now) = (None, 1_764_000_000_000_000_123_u64);
        // Costs in tenths of the limit, and hundredths of a window that pass; once the clock runs back.
        for (cost, passes) in [
            (0, 0),
            (5, 0),
            (3, 20),
            (1, 20),
            (9, 3),
            (1, 0),
            (4, 90),
            (9, 35),
            (10, 30),
            (2, -500),
            (10, 500),
        ] {
            now = now.checked_add_signed(passes * i64::try_from(quota.window().0 / 100).unwrap()).unwrap();
            let cost = account.limit() * cost / 10;
            let (after, verdict) = account.charge(KEY, state, Nanos(now), cost);
            let (answer, remaining, wait) = match verdict {
                Verdict::Admitted(standing) => ("admitted", standing.remaining, standing.resets_in),
                Verdict::Refused(refusal) => ("refused", 0, refusal.retry_after),
                Verdict::Exempt(_) => unreachable!(),
            };
            let burst = if kind == "gcra" { account.limit() } else { 0 };
            let text = |state: Option<u64>| state.map_or("-".into(), |state| state.to_string());
            let (before, after_) = (text(state), text(after));
            let (limit, window) = (quota.limit(), quota.window().0);
            let line = format!(
                "{kind}\t{limit}\t{window}\t{burst}\t{before}\t{now}\t{cost}\t{after_}\t{answer}\t{remaining}\t{}\n",
                wait.0
            );
            lines.push_str(&line);
            state = after;
        }
    }
    assert_eq!(
        lines,
        include_str!("states.tsv"),
        "states are kept by running nodes: a change loses their counts"
    );
}

#[test]
fn what_is_charged_ahead_lasts_until_its_window_ends() {
    let now = Nanos::from_secs(90);
    let lasts = |quota: Quota, cost| {
        let account = Account::new(quota).unwrap();
        let (state, _) = account.charge(KEY, None, now, cost);
        account.lasts(state.unwrap(), now).0 / 1_000_000_000
    };
    // Windows end up to 0.1 % early.
    assert_eq!(lasts(Quota::per_minute(300), 5), 59);
    // The clock's window ends at 120 s.
    assert_eq!(lasts(Quota::per_minute(300).sliding(), 5), 30);
    // Five intervals of a fifth of a second.
    assert_eq!(lasts(Quota::per_minute(300).burst(10), 5), 1);
    let gcra = Account::new(Quota::per_minute(300).burst(10)).unwrap();
    assert_eq!(gcra.fades().map(|interval| interval.0 / 1_000_000), Some(200));
}

#[test]
fn nobody_is_displaced_by_a_note() {
    let notes = BoxedNotes::with_capacity(MINUTE, 100, 16).unwrap();
    let now = Nanos::from_secs(1);
    let keys: Vec<Key> =
        (1..200_u64).map(|n| Key::from_fingerprint(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let remembered: Vec<Key> = keys
        .iter()
        .copied()
        .filter(|&key| notes.update(key, now, |_| Some(Note { lasts: MINUTE, number: 7 })).is_some())
        .collect();
    assert_eq!(remembered.len(), 16);
    assert!(remembered.iter().all(|&key| notes.read(key, now).is_some_and(|note| note.number == 7)));
    // A note that nobody looked at for nearly a whole ring would come back; a sweep in time prevents it.
    let later = Nanos(now.0 + notes.sweep_interval().0);
    assert_eq!(notes.sweep(later), 16);
    assert!(
        remembered.iter().all(|&key| notes.read(key, Nanos(now.0 + 4 * notes.sweep_interval().0)).is_none())
    );
}
