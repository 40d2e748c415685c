use core::fmt;

use crate::counters::Counts;
use crate::credentials::Presented;
use crate::key::Key;
#[cfg(feature = "alloc")]
use crate::limiter::BuildError;
use crate::limiter::RateLimiter;
use crate::quota::{Arithmetic, Penalty as Rule};
#[cfg(feature = "alloc")]
use crate::table::storage::Boxed;
use crate::table::storage::{Fixed, Storage};
use crate::table::{Overflow, Table};
use crate::time::Nanos;
use crate::verdict::{Reason, Refusal, Verdict};

/// A penalty in a static or inside another value: `N` cache lines, room for 8 × `N` callers.
pub type FixedPenalty<const N: usize> = Penalty<Fixed<N>>;

/// A penalty whose capacity is chosen at run time.
#[cfg(feature = "alloc")]
pub type BoxedPenalty = Penalty<Boxed>;

/// Refuses a caller for a longer time once it has been refused often: after so many *strikes* within a period it is
/// *out*.
///
/// A penalty is put behind a limiter by [`RateLimiter::check_with_penalty`]; it has a table of its own. When all
/// candidate slots of a caller are others', its strike is not counted: nobody is out for what another did, and the
/// limiter itself still holds.
///
/// ```
/// use tollgate::{FixedPenalty, Key, Limiter, Nanos, Presented, Quota, Reason, Verdict};
/// static GATE: Limiter<64> = Limiter::new(Quota::per_minute(5));
/// // Three refusals within a minute: out for an hour.
/// static PENALTY: FixedPenalty<64> = FixedPenalty::new(3, Nanos::from_secs(60), Nanos::from_secs(3600));
///
/// # let key = Key::from_fingerprint(0x1234_5678_9abc_def0);
/// let check = || GATE.check_with_penalty(&PENALTY, key, Presented::Absent, Nanos::from_secs(1));
/// assert_eq!((0..7).filter(|_| check().passes()).count(), 5);
/// let Verdict::Refused(refusal) = check() else { panic!() };
/// assert_eq!((refusal.reason, refusal.retry_after.whole_secs_up()), (Reason::Penalty, 3600));
/// ```
pub struct Penalty<S> {
    table: Table<S, Rule>,
}

// Under loom atomics can't be made in a const.
#[cfg(not(tollgate_loom))]
impl<const N: usize> Penalty<Fixed<N>> {
    /// A penalty for a `static` or `const`, where figures that can't be enforced are a compile error.
    ///
    /// # Panics
    /// If it is called at run time with figures that can't be enforced; then use [`Penalty::try_new`].
    pub const fn new(strikes: u32, period: Nanos, out: Nanos) -> Self {
        match Self::try_new(strikes, period, out) {
            Ok(penalty) => penalty,
            Err(error) => panic!("{}", error.message()),
        }
    }

    /// A penalty for figures that are known at run time only: 1 or more strikes, within a `period` from the first, and
    /// a time `out` from the last. Neither is longer than a million times the other.
    ///
    /// # Errors
    /// If the figures can't be enforced.
    pub const fn try_new(strikes: u32, period: Nanos, out: Nanos) -> Result<Self, crate::quota::QuotaError> {
        match Rule::new(strikes, period, out) {
            Ok(rule) => Ok(Self { table: Table::new(Fixed::new(), rule, rule.dial(), Overflow::Refuse) }),
            Err(error) => Err(error),
        }
    }
}

#[cfg(feature = "alloc")]
impl Penalty<Boxed> {
    /// A penalty with room for at least `capacity` refused callers; the figures as in [`Penalty::try_new`].
    ///
    /// # Errors
    /// If the figures can't be enforced, the capacity is 0, or the memory is not to be had.
    pub fn with_capacity(
        strikes: u32,
        period: Nanos,
        out: Nanos,
        capacity: usize,
    ) -> Result<Self, BuildError> {
        let rule = Rule::new(strikes, period, out).map_err(BuildError::Quota)?;
        let storage = Boxed::for_callers(capacity).ok_or(BuildError::without_room(capacity))?;
        Ok(Self { table: Table::new(storage, rule, rule.dial(), Overflow::Refuse) })
    }
}

impl<S: Storage> Penalty<S> {
    /// The refusal of a caller that is out. Nothing is counted.
    pub fn out(&self, key: Key, now: Nanos) -> Option<Refusal> {
        let refusal = self.table.foresee(key, now, 1).err()?;
        Some(Refusal::new(refusal.limit, refusal.retry_after, Reason::Penalty))
    }

    /// Counts a strike against a caller; its refusal, if it is out now.
    pub fn strike(&self, key: Key, now: Nanos) -> Option<Refusal> {
        match self.table.check(key, now, 1) {
            Verdict::Admitted(standing) if standing.remaining == 0 => {
                Some(Refusal::new(standing.limit, standing.resets_in, Reason::Penalty))
            }
            Verdict::Refused(refusal) if refusal.reason == Reason::OverLimit => {
                Some(Refusal::new(refusal.limit, refusal.retry_after, Reason::Penalty))
            }
            _ => None,
        }
    }

    /// Takes all strikes from a caller, and lets it in again; whether it had any.
    pub fn pardon(&self, key: Key, now: Nanos) -> bool {
        self.table.clear(key, now)
    }

    /// How often to [`sweep`](Self::sweep), at least; see [`RateLimiter::sweep_interval`]. Where it is not done, a caller
    /// that served its time long ago may be out once more.
    pub fn sweep_interval(&self) -> Nanos {
        self.table.rule().quarter_ring()
    }

    /// Clears words whose time is past: see [`RateLimiter::sweep`].
    pub fn sweep(&self, now: Nanos) -> usize {
        self.table.sweep(now)
    }

    /// How often the rare things happened.
    pub fn counts(&self) -> Counts {
        self.table.counters.read()
    }
}

impl<S: Storage, R: Arithmetic> RateLimiter<S, R> {
    /// Decides one request as [`check`](Self::check) does, and puts a caller that is refused too often out for longer.
    /// The wait of a refusal is the one that is enforced.
    pub fn check_with_penalty<P: Storage>(
        &self,
        penalty: &Penalty<P>,
        key: Key,
        presented: Presented,
        now: Nanos,
    ) -> Verdict {
        if !matches!(presented, Presented::Service(_))
            && let Some(refusal) = penalty.out(key, now)
        {
            return Verdict::Refused(Refusal { limit: self.limit(), ..refusal });
        }
        match self.check(key, presented, now) {
            Verdict::Refused(refusal) if refusal.reason == Reason::OverLimit => {
                match penalty.strike(key, now) {
                    Some(out) => Verdict::Refused(Refusal { limit: refusal.limit, ..out }),
                    None => Verdict::Refused(refusal),
                }
            }
            verdict => verdict,
        }
    }
}

impl<S: Storage> fmt::Debug for Penalty<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Penalty").field("strikes", &self.table.rule().limit()).finish_non_exhaustive()
    }
}
