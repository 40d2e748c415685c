use core::fmt;

use crate::counters::Counts;
use crate::credentials::Presented;
use crate::key::Key;
#[cfg(feature = "alloc")]
use crate::limiter::BuildError;
use crate::quota::InFlight as Rule;
#[cfg(feature = "alloc")]
use crate::table::storage::Boxed;
use crate::table::storage::{Fixed, Storage};
use crate::table::{Overflow, Table};
use crate::time::Nanos;
use crate::verdict::{Receipt, Refusal, Verdict};

/// An in-flight limit in a static or inside another value: `N` cache lines, room for 8 × `N` callers.
pub type FixedInFlight<const N: usize> = InFlight<Fixed<N>>;

/// An in-flight limit whose capacity is chosen at run time.
#[cfg(feature = "alloc")]
pub type BoxedInFlight = InFlight<Boxed>;

/// Lets each caller have a number of requests under way at once.
///
/// A request *enters* and is *released*; nothing passes with time. A caller has room in the table while it has requests
/// under way. When all its candidate slots are others', a newcomer is refused, or, with
/// [`admit_when_full`](Self::admit_when_full), passes uncounted: nobody is ever displaced, since an inherited count
/// would never be released.
///
/// ```
/// use tollgate::{FixedInFlight, Key, Nanos, Presented};
/// static UNDER_WAY: FixedInFlight<64> = FixedInFlight::new(2);
///
/// # let key = Key::from_fingerprint(0x1234_5678_9abc_def0);
/// let now = Nanos::from_secs(1);
/// let first = UNDER_WAY.guard(key, Presented::Absent, now)?;
/// let second = UNDER_WAY.guard(key, Presented::Absent, now)?;
/// assert!(UNDER_WAY.guard(key, Presented::Absent, now).is_err());
/// drop(first);
/// assert!(UNDER_WAY.guard(key, Presented::Absent, now).is_ok());
/// # drop(second);
/// # Ok::<(), tollgate::Refusal>(())
/// ```
pub struct InFlight<S> {
    table: Table<S, Rule>,
}

// Under loom atomics can't be made in a const.
#[cfg(not(tollgate_loom))]
impl<const N: usize> InFlight<Fixed<N>> {
    /// A limit for a `static` or `const`, where a limit of 0 is a compile error.
    ///
    /// # Panics
    /// If it is called at run time with a limit of 0 or above 16,777,215; then use [`InFlight::try_new`].
    pub const fn new(limit: u32) -> Self {
        match Self::try_new(limit) {
            Ok(limiter) => limiter,
            Err(error) => panic!("{}", error.message()),
        }
    }

    /// A limit that is known at run time only, from 1 to 16,777,215.
    ///
    /// # Errors
    /// If the limit is out of range.
    pub const fn try_new(limit: u32) -> Result<Self, crate::quota::QuotaError> {
        match Rule::new(limit) {
            Ok(rule) => Ok(Self { table: Table::new(Fixed::new(), rule, rule.dial(), Overflow::Refuse) }),
            Err(error) => Err(error),
        }
    }
}

#[cfg(feature = "alloc")]
impl InFlight<Boxed> {
    /// A limit with room for at least `capacity` callers at once.
    ///
    /// # Errors
    /// If the limit is out of range, the capacity is 0, or the memory is not to be had.
    pub fn with_capacity(limit: u32, capacity: usize) -> Result<Self, BuildError> {
        let rule = Rule::new(limit).map_err(BuildError::Quota)?;
        let storage = Boxed::for_callers(capacity).ok_or(BuildError::without_room(capacity))?;
        Ok(Self { table: Table::new(storage, rule, rule.dial(), Overflow::Refuse) })
    }
}

impl<S: Storage> InFlight<S> {
    /// The same limit, which lets newcomers pass uncounted where it has no room for them.
    #[must_use]
    pub const fn admit_when_full(mut self) -> Self {
        self.table.overflow = Overflow::Admit;
        self
    }

    /// Lets a request enter, if its caller has fewer than the limit under way. If it is admitted, give
    /// `standing.receipt` to [`release`](Self::release) when the request is over, however it ends.
    pub fn enter(&self, key: Key, presented: Presented, now: Nanos) -> Verdict {
        match self.table.counters.note(presented) {
            Some(service) => Verdict::Exempt(service),
            None => self.table.check(key, now, 1),
        }
    }

    /// Ends a request that [`enter`](Self::enter) admitted; whether it was counted. Once for each receipt.
    pub fn release(&self, receipt: Receipt) -> bool {
        // How long the request took does not matter.
        receipt.cost() > 0 && self.table.refund(receipt, Nanos::ZERO)
    }

    /// Lets a request enter and releases it when the guard is dropped, also by a panic.
    ///
    /// # Errors
    /// The refusal, if the caller has the limit under way.
    pub fn guard(&self, key: Key, presented: Presented, now: Nanos) -> Result<InFlightGuard<'_, S>, Refusal> {
        match self.enter(key, presented, now) {
            Verdict::Exempt(_) => Ok(InFlightGuard { limit: self, receipt: None }),
            Verdict::Admitted(standing) => Ok(InFlightGuard { limit: self, receipt: Some(standing.receipt) }),
            Verdict::Refused(refusal) => Err(refusal),
        }
    }

    /// How many requests a caller has under way.
    pub fn under_way(&self, key: Key) -> u32 {
        let standing = self.table.peek(key, Nanos::ZERO);
        standing.limit - standing.remaining
    }

    /// How often the rare things happened.
    pub fn counts(&self) -> Counts {
        self.table.counters.read()
    }
}

impl<S: Storage> fmt::Debug for InFlight<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight").field("limit", &self.table.rule().limit()).finish_non_exhaustive()
    }
}

/// A request under way; dropping it ends the request. See [`InFlight::guard`].
#[must_use = "a guard that is dropped at once counts nothing"]
pub struct InFlightGuard<'l, S: Storage> {
    limit: &'l InFlight<S>,
    /// None if the request is not counted.
    receipt: Option<Receipt>,
}

impl<S: Storage> Drop for InFlightGuard<'_, S> {
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            self.limit.release(receipt);
        }
    }
}

impl<S: Storage> fmt::Debug for InFlightGuard<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlightGuard").finish_non_exhaustive()
    }
}
