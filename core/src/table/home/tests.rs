use alloc::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::storage::Fixed;
use super::super::{Overflow, Table};
use super::*;
use crate::quota::{FixedWindow, Quota, Rule};
use crate::word::{Tag, Word};

/// What happens to two tables alike, of which one decides everywhere at once.
#[derive(Clone, Copy, Debug)]
enum Step {
    Check {
        caller: u64,
        cost: u32,
    },
    Forward(u64),
    Back(u64),
    SetRule {
        limit: u32,
        window: u64,
    },
    Clear(u64),
    Refund,
    Sweep,
    /// The claim of a thread that has died, or what is left of one, where there is room for it.
    Leave {
        caller: u64,
        place: usize,
        is_claim: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let caller = || 0_u64..24;
    let spans = || prop_oneof![0..=150_000_000_u64, 0..=3_000_000_000_u64, any::<u64>()];
    let step = prop_oneof![
        12 => (caller(), prop_oneof![4 => 1_u32..4, 1 => 1_u32..130]).prop_map(|(caller, cost)| Step::Check { caller, cost }),
        3 => spans().prop_map(Step::Forward),
        1 => spans().prop_map(Step::Back),
        1 => (64_u32..128, 600..=1_070_u64).prop_map(|(limit, window)| Step::SetRule { limit, window }),
        1 => caller().prop_map(Step::Clear),
        1 => Just(Step::Refund),
        1 => Just(Step::Sweep),
        1 => (caller(), 0..2 * WAYS, any::<bool>())
            .prop_map(|(caller, place, is_claim)| Step::Leave { caller, place, is_claim }),
    ];
    vec(step, 1..200)
}

/// Callers who share lines, and some a tag that is none, or what stands for it.
fn key(caller: u64) -> Key {
    let tag = match caller % 12 {
        0 => 0,
        1 => 1,
        2 => u64::MAX >> 37,
        other => other * 0x1_2345,
    };
    Key::from_fingerprint(tag << 37 | (caller * 7 % 16))
}

/// Whether both tables answer alike and hold the same words after each step.
fn play<R: Arithmetic>(
    rule: R,
    overflow: Overflow,
    mut now: u64,
    steps: &[Step],
    other: impl Fn(u32, u64) -> Option<R>,
) -> Result<(), TestCaseError> {
    let table = || Table::new(Fixed::<2>::new(), rule, rule.dial(), overflow);
    let (near, everywhere) = (table(), table());
    let mut charged = None;
    for &step in steps {
        let at = Nanos(now);
        match step {
            Step::Check { caller, cost } => {
                let cost = cost.min(near.rule().limit());
                // Either way of asking; where the home slot decides nothing it is left as it was.
                let asks_home = caller % 2 == 0;
                let at_home = asks_home.then(|| near.check_at_home(key(caller), at, cost)).flatten();
                let verdict = at_home.unwrap_or_else(|| near.check(key(caller), at, cost));
                prop_assert_eq!(verdict, everywhere.check_everywhere(key(caller), at, cost));
                if let Verdict::Admitted(standing) = verdict {
                    charged = Some(standing.receipt);
                }
            }
            Step::Forward(span) => now = now.wrapping_add(span),
            Step::Back(span) => now = now.wrapping_sub(span),
            Step::SetRule { limit, window } => {
                if let Some(rule) = other(limit, window) {
                    prop_assert_eq!(near.set_rule(&rule), everywhere.set_rule(&rule));
                }
            }
            Step::Clear(caller) => {
                prop_assert_eq!(near.clear(key(caller), at), everywhere.clear(key(caller), at));
            }
            Step::Refund => {
                if let Some(receipt) = charged {
                    prop_assert_eq!(near.refund(receipt, at), everywhere.refund(receipt, at));
                }
            }
            Step::Sweep => prop_assert_eq!(near.sweep(at), everywhere.sweep(at)),
            Step::Leave { caller, place, is_claim } if near.state(key(caller)).is_none() => {
                let state = near.rule().fresh(None, near.rule().moment(at));
                let tag = Tag::of(key(caller).fingerprint());
                let left = if is_claim { Word::claim(tag, state) } else { Word::residue(state) };
                let leave =
                    |table: &Table<_, R>| table.slots().nth(place).map(|slot| slot.swap(Word::EMPTY, left));
                prop_assert_eq!(leave(&near), leave(&everywhere));
            }
            Step::Leave { .. } => {}
        }
        let words = |table: &Table<_, R>| table.slots().map(Slot::load).collect::<Vec<_>>();
        prop_assert_eq!(words(&near), words(&everywhere), "after {:?}", step);
    }
    prop_assert_eq!(near.counters.read(), everywhere.counters.read());
    Ok(())
}

proptest! {
    #[test]
    fn every_way_decides_alike(
        steps in steps(),
        kind in 0..4,
        limit in 64_u32..128,
        window in prop_oneof![600..=1_070_u64, Just(4_000_000_000_000)],
        overflow in prop_oneof![
            Just(Overflow::Inherit), Just(Overflow::Forget), Just(Overflow::Refuse), Just(Overflow::Admit)
        ],
        now in prop_oneof![0..=4_000_000_000_u64, u64::MAX - 4_000_000_000..=u64::MAX, any::<u64>()],
    ) {
        let quota = |limit, window: u64| {
            let quota = Quota::new(limit, Nanos(window * 1_000_000));
            match kind {
                0 | 1 => quota,
                2 => quota.sliding(),
                _ => quota.burst(limit.min(90)),
            }
        };
        if kind == 0 {
            let rule = |limit, window| -> Option<FixedWindow> { quota(limit, window).fixed_window().ok() };
            let first = rule(limit, window).ok_or_else(|| TestCaseError::reject("no such quota"))?;
            play(first, overflow, now, &steps, rule)?;
        } else {
            let rule = |limit, window| Rule::new(quota(limit, window)).ok();
            let first = rule(limit, window).ok_or_else(|| TestCaseError::reject("no such quota"))?;
            play(first, overflow, now, &steps, rule)?;
        }
    }
}
