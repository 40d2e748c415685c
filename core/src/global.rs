use core::fmt;

use crate::counters::{Count, Counters, Counts};
use crate::credentials::Presented;
use crate::key::Key;
use crate::line::Slot;
use crate::quota::{Arithmetic, Charge, MoreIn, Rule};
use crate::several::{Limit, Note, Steps};
use crate::sync::AtomicU64;
use crate::time::Nanos;
use crate::verdict::{Reason, Receipt, Refusal, Standing, Verdict};
use crate::word::{Tag, Word};

/// One budget for everybody: the same arithmetic on a single word.
///
/// ```
/// use tollgate::{GlobalLimiter, Nanos, Presented, Quota};
/// static EVERYBODY: GlobalLimiter = GlobalLimiter::new(Quota::per_second(1_000));
/// assert!(EVERYBODY.check(Presented::Absent, Nanos::from_secs(1)).passes());
/// ```
///
/// # Security
/// What callers share, one of them can use up. Put a limit for each caller before it: [`check_all`](crate::check_all).
pub struct GlobalLimiter {
    rule: Rule,
    counters: Counters,
    word: AtomicU64,
}

/// The word's owner.
const EVERYBODY: Tag = Tag::of(u64::MAX);
const NOBODY_S_KEY: Key = Key::from_fingerprint(0);

impl GlobalLimiter {
    /// A limiter for a `static` or `const`, where a quota that can't be enforced is a compile error.
    ///
    /// # Panics
    /// If it is called at run time with a quota that fails [`Quota::validate`](crate::quota::Quota::validate); then use
    /// [`GlobalLimiter::try_new`].
    #[cfg(not(tollgate_loom))]
    pub const fn new(quota: crate::quota::Quota) -> Self {
        match Self::try_new(quota) {
            Ok(limiter) => limiter,
            Err(error) => panic!("{}", error.message()),
        }
    }

    /// A limiter for a quota that is known at run time only.
    ///
    /// # Errors
    /// If the quota can't be enforced.
    #[cfg(not(tollgate_loom))]
    pub const fn try_new(quota: crate::quota::Quota) -> Result<Self, crate::quota::QuotaError> {
        match Rule::new(quota) {
            Ok(rule) => Ok(Self { rule, counters: Counters::new(), word: AtomicU64::new(0) }),
            Err(error) => Err(error),
        }
    }

    /// Decides one request at the time `now`.
    pub fn check(&self, presented: Presented, now: Nanos) -> Verdict {
        self.check_n(presented, now, 1)
    }

    /// Decides one request that costs as much as `cost` ordinary ones.
    pub fn check_n(&self, presented: Presented, now: Nanos, cost: u32) -> Verdict {
        match self.counters.note(presented) {
            Some(service) => Verdict::Exempt(service),
            None => self.charge(NOBODY_S_KEY, now, cost),
        }
    }

    /// The most that passes at once.
    pub const fn limit(&self) -> u32 {
        self.rule.limit()
    }

    /// The window as it is enforced: see [`RateLimiter::enforced_window`](crate::RateLimiter::enforced_window).
    pub const fn enforced_window(&self) -> Nanos {
        self.rule.window()
    }

    /// The time until more than what remains may pass: see [`RateLimiter::more_in`](crate::RateLimiter::more_in).
    pub fn more_in(&self, standing: &Standing, now: Nanos) -> Nanos {
        self.rule.visit(MoreIn { standing, now, dial: self.rule.dial() })
    }

    /// Gives back what an admitted request was charged; whether it still counted.
    pub fn refund(&self, receipt: Receipt, now: Nanos) -> bool {
        let at = self.rule.moment(now);
        let slot = Slot::new(&self.word);
        loop {
            let word = slot.load();
            let state = self.rule.refund(word.state(), receipt.charged(), receipt.cost(), at);
            match state {
                Some(state) if !word.is_empty() => {
                    if slot.swap(word, word.with_state(state)) {
                        return true;
                    }
                }
                _ => return false,
            }
        }
    }

    /// How often the rare things happened.
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }

    fn refused(&self, retry_after: Nanos, reason: Reason) -> Refusal {
        Refusal::new(self.rule.limit(), retry_after, reason)
    }
}

impl Limit for GlobalLimiter {}

impl Steps for GlobalLimiter {
    fn foresee(&self, _: Key, now: Nanos, cost: u32) -> Result<(), Refusal> {
        if cost == 0 {
            return Ok(());
        }
        if cost > self.rule.limit() {
            return Err(self.refused(Nanos::MAX, Reason::CostAboveLimit));
        }
        let (word, at) = (Slot::new(&self.word).load(), self.rule.moment(now));
        match self.rule.charge(word.state(), at, cost) {
            Charge::Refused { retry_after, .. } if !word.is_empty() => {
                Err(self.refused(retry_after, Reason::OverLimit))
            }
            _ => Ok(()),
        }
    }

    fn charge(&self, key: Key, now: Nanos, cost: u32) -> Verdict {
        if cost > self.rule.limit() {
            self.counters.add(Count::Refused);
            return Verdict::Refused(self.refused(Nanos::MAX, Reason::CostAboveLimit));
        }
        let at = self.rule.moment(now);
        let slot = Slot::new(&self.word);
        loop {
            let word = slot.load();
            let state = if word.is_empty() { self.rule.fresh(None, at) } else { word.state() };
            let charge = self.rule.charge(state, at, cost);
            let (Charge::Admitted { state, .. } | Charge::Refused { state, .. }) = charge;
            let next = Word::committed(EVERYBODY, state);
            if next != word && !slot.swap(word, next) {
                continue;
            }
            return match charge {
                Charge::Admitted { remaining, resets_in, .. } => {
                    let receipt = Receipt::new(key, state, cost);
                    Verdict::Admitted(Standing::new(self.rule.limit(), remaining, resets_in, receipt))
                }
                Charge::Refused { retry_after, .. } => {
                    self.counters.add(Count::Refused);
                    Verdict::Refused(self.refused(retry_after, Reason::OverLimit))
                }
            };
        }
    }

    fn undo(&self, receipt: Receipt, now: Nanos) {
        self.refund(receipt, now);
    }

    fn note(&self, note: Note) {
        self.counters.add(note.into());
    }
}

impl fmt::Debug for GlobalLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GlobalLimiter").field("limit", &self.rule.limit()).finish_non_exhaustive()
    }
}
