use crate::key::Key;
use crate::quota::{Charge, Layout, Quota, QuotaError, Rule};
use crate::time::Nanos;
use crate::verdict::{Reason, Receipt, Refusal, Standing, Verdict};

/// The arithmetic of a quota on states that are kept elsewhere, such as in a database that several nodes share.
///
/// A state is one number of 36 bits, or nothing for a caller that has none; nothing of a caller is forgotten between
/// calls but what the store forgets. Decisions are those that a limiter with room for everybody makes.
///
/// ```
/// use tollgate::{Account, Key, Nanos, Quota};
/// let account = Account::new(Quota::per_minute(1))?;
/// # let key = Key::from_fingerprint(0x1234_5678_9abc_def0);
/// let (state, verdict) = account.charge(key, None, Nanos::from_secs(1), 1);
/// assert!(verdict.passes());
/// let (_, verdict) = account.charge(key, state, Nanos::from_secs(2), 1);
/// assert!(!verdict.passes());
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Account {
    rule: Rule,
}

impl Account {
    /// The arithmetic of a quota.
    ///
    /// # Errors
    /// If the quota can't be enforced.
    pub const fn new(quota: Quota) -> Result<Self, QuotaError> {
        match Rule::new(quota) {
            Ok(rule) => Ok(Self { rule }),
            Err(error) => Err(error),
        }
    }

    /// How its states are laid out.
    pub const fn layout(&self) -> Layout {
        self.rule.layout()
    }

    /// The most that passes at once.
    pub const fn limit(&self) -> u32 {
        self.rule.limit()
    }

    /// The time in which a caller that has used everything has everything again; with a sliding window, half of it.
    pub const fn window(&self) -> Nanos {
        self.rule.window()
    }

    /// Decides a request of `cost`; the state to keep, and the answer.
    pub fn charge(&self, key: Key, state: Option<u64>, now: Nanos, cost: u32) -> (Option<u64>, Verdict) {
        let at = self.rule.moment(now);
        let limit = self.rule.limit();
        if cost > limit {
            let refusal = Refusal::new(limit, Nanos::MAX, Reason::CostAboveLimit);
            return (state, Verdict::Refused(refusal));
        }
        let before = state.unwrap_or_else(|| self.rule.fresh(None, at));
        match self.rule.charge(before, at, cost) {
            Charge::Admitted { remaining, .. } | Charge::Refused { remaining, .. } if cost == 0 => {
                let resets_in = state.map_or(Nanos::ZERO, |state| self.rule.over_in(state, at));
                let standing = Standing::new(limit, remaining, resets_in, Receipt::new(key, 0, 0));
                (state, Verdict::Admitted(standing))
            }
            Charge::Admitted { state, remaining, resets_in } => {
                let receipt = Receipt::new(key, state, cost);
                (Some(state), Verdict::Admitted(Standing::new(limit, remaining, resets_in, receipt)))
            }
            Charge::Refused { state, retry_after, .. } => {
                (Some(state), Verdict::Refused(Refusal::new(limit, retry_after, Reason::OverLimit)))
            }
        }
    }

    /// The state after a charge was given back; `None` if it no longer counts.
    pub const fn refund(&self, state: u64, receipt: &Receipt, now: Nanos) -> Option<u64> {
        self.rule.refund(state, receipt.charged(), receipt.cost(), self.rule.moment(now))
    }

    /// The state of the same caller with its whole limit again.
    pub const fn cleared(&self, state: u64, now: Nanos) -> u64 {
        self.rule.cleared(state, self.rule.moment(now))
    }

    /// The time until a state restrains nobody any more, and may be forgotten.
    pub const fn over_in(&self, state: u64, now: Nanos) -> Nanos {
        self.rule.over_in(state, self.rule.moment(now))
    }

    /// For how long what was charged when `state` was written may be *used*, so that no more passes than if each request
    /// were charged when it comes: until the window ends. With GCRA, what is charged ahead also fades: see
    /// [`fades`](Self::fades).
    pub const fn lasts(&self, state: u64, now: Nanos) -> Nanos {
        self.rule.lasts(state, self.rule.moment(now))
    }

    /// With GCRA, the time of one request: no more of what was charged ahead may be used than as many requests as fit in
    /// the time that it still [`lasts`](Self::lasts). `None` with windows.
    pub const fn fades(&self) -> Option<Nanos> {
        match self.rule {
            Rule::Gcra(rule) => Some(rule.interval()),
            Rule::FixedWindow(_) | Rule::SlidingWindow(_) => None,
        }
    }
}
