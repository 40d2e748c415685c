//! The decisions that a caller's first line settles, which nearly all are: its word is there, mostly in its home slot, and
//! nobody else is at it.

use core::hint::cold_path;

use super::caller::Caller;
use super::storage::Lines;
use super::{Request, Table};
use crate::counters::Count;
use crate::key::Key;
use crate::line::{Slot, WAYS};
use crate::quota::{Arithmetic, Charge, Visit};
use crate::sync::HOME_FIRST;
use crate::time::Nanos;
use crate::verdict::{Reason, Receipt, Refusal, Standing, Verdict};

impl<S: Lines, R: Arithmetic> Table<S, R> {
    /// Decides one request of a cost from 1 to the limit, or of nothing by a rule that charges nothing.
    #[expect(
        clippy::inline_always,
        reason = "behind a call it takes a third longer, for one who asks only whether it passes"
    )]
    #[inline(always)]
    pub(crate) fn check(&self, key: Key, now: Nanos, cost: u32) -> Verdict {
        if !HOME_FIRST {
            return self.check_everywhere(key, now, cost);
        }
        self.at_home(key, now, cost, |verdict| verdict, || self.check_line(key, now, cost))
    }

    /// The same if the caller's word is in its home slot and nobody else is at it; `None` if nothing is decided.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn check_at_home(&self, key: Key, now: Nanos, cost: u32) -> Option<Verdict> {
        if HOME_FIRST { self.at_home(key, now, cost, Some, || None) } else { None }
    }

    /// What is `decided` by the home slot, or what is done `otherwise`.
    ///
    /// A fixed window that runs is decided on where this is called, in so little code that it all stays in registers: of a
    /// verdict that is only asked whether it passes, nothing is written to memory.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn at_home<T>(
        &self,
        key: Key,
        now: Nanos,
        cost: u32,
        decided: impl FnOnce(Verdict) -> T,
        otherwise: impl FnOnce() -> T,
    ) -> T {
        let Some(window) = self.rule.fixed_window() else { return otherwise() };
        let Some(home) = Caller::of(key).home_slot(&self.storage) else { return otherwise() };
        let word = home.load();
        let Some(state) = word.state_of(key.fingerprint()) else { return otherwise() };
        let window = window.with_dial(self.read_dial());
        match window.charge_running(state, now, cost) {
            Some(Charge::Admitted { state, remaining, resets_in }) if home.swap(word, word.plus(cost)) => {
                let receipt = Receipt::new(key, state, cost);
                decided(Verdict::Admitted(Standing::new(window.limit(), remaining, resets_in, receipt)))
            }
            Some(Charge::Refused { retry_after, .. }) => {
                self.counters.add(Count::Refused);
                decided(Verdict::Refused(Refusal::new(window.limit(), retry_after, Reason::OverLimit)))
            }
            // The window is over or begins ahead of the clock, or somebody else was at the word.
            _ => {
                cold_path();
                otherwise()
            }
        }
    }

    /// The same for rules of any kind, wherever in its first line a caller's word is.
    #[inline(never)]
    fn check_line(&self, key: Key, now: Nanos, cost: u32) -> Verdict {
        self.rule.visit(Check { table: self, key, now, cost })
    }
}

/// One request on its way through the table.
pub(super) struct Check<'t, S, R> {
    pub(super) table: &'t Table<S, R>,
    pub(super) key: Key,
    pub(super) now: Nanos,
    pub(super) cost: u32,
}

impl<S: Lines, R: Arithmetic> Visit for Check<'_, S, R> {
    type Output = Verdict;

    #[inline]
    fn visit<A: Arithmetic>(self, rule: &A) -> Verdict {
        let Self { table, key, now, cost } = self;
        let caller = Caller::of(key);
        let line = table.storage.line(caller.line);
        let slots =
            line.into_iter().flat_map(|line| (0..WAYS).map(move |way| Slot::of(line, caller.home + way)));
        let mut words = slots.map(|slot| (slot, slot.load()));
        if let Some((slot, word)) = words.find(|(_, word)| word.is_committed_by(caller.tag)) {
            let rule = rule.with_dial(table.read_dial());
            let request = Request { rule, at: rule.moment(now), key, cost };
            if let Some(verdict) = table.charge(slot, word, &request) {
                return verdict;
            }
        }
        table.check_everywhere(key, now, cost)
    }
}

#[cfg(not(tollgate_loom))]
#[cfg(test)]
mod tests;
