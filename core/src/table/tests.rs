use super::caller::GOLDEN;
use super::storage::Fixed;
use super::*;
use crate::quota::{Quota, Rule};
use crate::word::Tag;
use crate::work;
use alloc::format;
use alloc::vec::Vec;

const HOUR: u64 = 3_600_000_000_000;

fn words(table: &Table<Fixed<2>, Rule>) -> Vec<Word> {
    table.slots().map(Slot::load).collect()
}

fn full(quota: Quota, overflow: Overflow, now: Nanos) -> Table<Fixed<2>, Rule> {
    let rule = Rule::new(quota).unwrap();
    let table = Table::new(Fixed::new(), rule, rule.dial(), overflow);
    for caller in 0..200_u64 {
        let _ = table.check(Key::from_fingerprint(caller.wrapping_mul(GOLDEN)), now, 1);
    }
    assert!(words(&table).iter().all(|word| !word.is_empty()));
    table
}

#[test]
fn a_refusal_writes_nothing_but_a_state_that_lay_ahead() {
    let second = Nanos::from_secs(1);
    for quota in [Quota::per_minute(1), Quota::per_minute(1).sliding(), Quota::per_minute(1).burst(1)] {
        for overflow in [Overflow::Inherit, Overflow::Refuse] {
            let table = full(quota, overflow, Nanos(10 * HOUR));
            let before = words(&table);
            // Every caller is refused, whether it has a word or is a newcomer; so is a cost that never passes.
            for caller in 0..1_000_u64 {
                let key = Key::from_fingerprint(caller.wrapping_mul(GOLDEN));
                let now = Nanos(10 * HOUR).saturating_add(second);
                assert!(!table.check(key, now, 1).passes() && !table.check(key, now, 2).passes());
                let _ = table.peek(key, now);
            }
            assert_eq!(words(&table), before, "{quota:?}, {overflow:?}");
            // The clock fell back: one refusal brings the one caller's word to now.
            let key = Key::from_fingerprint(0);
            let own = before.iter().position(|word| word.is_committed_by(Tag::of(0))).unwrap();
            assert!(!table.check(key, Nanos(HOUR), 1).passes());
            let after = words(&table);
            for (slot, (before, after)) in before.iter().zip(&after).enumerate() {
                assert_eq!(
                    before != after,
                    slot == own,
                    "{quota:?}: slot {slot}, {before:?} became {after:?}"
                );
            }
        }
    }
}

/// What one decision touches is bounded, whatever the table holds: a known caller at home one slot and at most one swap, if
/// its window runs; one elsewhere in its first line that line; any other sixteen slots more, an insertion yet sixteen more
/// and two swaps; and where all words lie ahead of the clock, one swap for each of them.
#[test]
fn work_is_bounded_by_a_count_of_slots_and_swaps() {
    let (line, places) = (u32::try_from(WAYS).unwrap(), u32::try_from(PLACES).unwrap());
    for quota in [Quota::per_minute(3), Quota::per_minute(3).sliding(), Quota::per_minute(3).burst(3)] {
        for overflow in [Overflow::Inherit, Overflow::Forget, Overflow::Refuse, Overflow::Admit] {
            let table = full(quota, overflow, Nanos(10 * HOUR));
            let (mut most, mut at_home, mut in_line) = ((0, 0), 0, 0);
            for request in 0..20_000_u64 {
                // A few often, and newcomers among them.
                let caller = if request % 3 == 0 { request % 331 } else { request % 17 };
                let key = Key::from_fingerprint(caller.wrapping_mul(GOLDEN));
                // Forward by a second each time, and back by an hour now and then.
                let ahead = 11 * HOUR + request * 1_000_000_000;
                let now = Nanos(if request % 997 == 0 { ahead - HOUR } else { ahead });
                let caller = Caller::of(key);
                let first = table.storage.line(caller.line).unwrap();
                let is_own =
                    |way: &usize| Slot::of(first, caller.home + way).load().is_committed_by(caller.tag);
                let way = (0..WAYS).find(is_own);
                let _ = work::taken();
                let verdict = table.check(key, now, 1);
                let (loads, swaps) = work::taken();
                let context = format!("{quota:?}, {overflow:?}: {loads} slots, {swaps} swaps");
                if let Some(way) = way {
                    assert!(loads <= 1 + line && swaps <= 1, "{context}");
                    (at_home, in_line) = (at_home + u32::from(way == 0 && loads == 1), in_line + 1);
                    // A fixed window that does not run is looked at twice.
                    assert!(way > 0 || loads <= 2, "{context}");
                }
                let ahead = if verdict.passes() { 0 } else { places };
                assert!(swaps <= 2 + ahead, "{context}");
                most = (most.0.max(loads), most.1.max(swaps));
            }
            assert!(most.0 <= line + 2 * places, "{quota:?}, {overflow:?}: {} slots", most.0);
            assert!(most.0 > places, "{quota:?}, {overflow:?}: nobody was ever inserted");
            assert!(
                at_home > 100 && in_line > at_home,
                "{quota:?}, {overflow:?}: {at_home} of {in_line} at home"
            );
        }
    }
}
