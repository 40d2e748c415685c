use core::error::Error;
use core::fmt;

use crate::counters::Counts;
use crate::credentials::Presented;
use crate::key::Key;
#[cfg(feature = "alloc")]
use crate::line::WAYS;
use crate::quota::{Quota, QuotaError, Rule};
#[cfg(feature = "alloc")]
use crate::table::storage::Boxed;
use crate::table::storage::{Fixed, Storage};
use crate::table::{Overflow, Table};
use crate::time::Nanos;
use crate::verdict::Verdict;

/// A limiter in a static or inside another value: `N` cache lines, room for 8 × `N` callers, 64 × `N` bytes.
///
/// `N` is a power of two and at least 2. Choose it for twice the callers that you expect in one window.
///
/// ```
/// use tollgate::{Limiter, Quota};
/// // 256 lines, 2,048 callers, 16 KiB.
/// static GATE: Limiter<256> = Limiter::new(Quota::per_minute(300));
/// ```
pub type Limiter<const N: usize> = RateLimiter<Fixed<N>>;

/// A limiter whose capacity is chosen at run time.
#[cfg(feature = "alloc")]
pub type BoxedLimiter = RateLimiter<Boxed>;

/// Holds each caller to a [`Quota`]; share it by reference between all threads.
///
/// It is used as [`Limiter<N>`](Limiter) or, with the feature `alloc`, as `BoxedLimiter`, which differ in
/// where their words are.
pub struct RateLimiter<S> {
    quota: Quota,
    table: Table<S>,
}

// Under loom atomics can't be made in a const.
#[cfg(not(loom))]
impl<const N: usize> RateLimiter<Fixed<N>> {
    /// A limiter for a `static` or `const`, where a quota that can't be enforced is a compile error.
    ///
    /// ```compile_fail
    /// use tollgate::{Limiter, Quota};
    /// static GATE: Limiter<256> = Limiter::new(Quota::per_minute(0));
    /// # fn main() { GATE.capacity(); }
    /// ```
    /// ```compile_fail
    /// use tollgate::{Limiter, Quota};
    /// static GATE: Limiter<0> = Limiter::new(Quota::per_minute(300));
    /// # fn main() { GATE.capacity(); }
    /// ```
    ///
    /// # Panics
    /// If it is called at run time with a quota that fails [`Quota::validate`]. For quotas from a configuration
    /// use [`Limiter::try_new`](Self::try_new).
    pub const fn new(quota: Quota) -> Self {
        match Self::try_new(quota) {
            Ok(limiter) => limiter,
            Err(error) => panic!("{}", error.message()),
        }
    }

    /// A limiter for a quota that is known at run time only.
    ///
    /// # Errors
    /// If the quota can't be enforced.
    pub const fn try_new(quota: Quota) -> Result<Self, QuotaError> {
        match Rule::new(quota) {
            Ok(rule) => Ok(Self { quota, table: Table::new(Fixed::new(), rule) }),
            Err(error) => Err(error),
        }
    }
}

#[cfg(feature = "alloc")]
impl RateLimiter<Boxed> {
    /// A limiter with room for at least `capacity` callers: 8 bytes for each, rounded up to a power of two of
    /// at least 16.
    ///
    /// The memory is zeroed by the operating system as it is touched, so a large table is built at once.
    ///
    /// # Errors
    /// If the quota can't be enforced, the capacity is 0, or the memory is not to be had.
    pub fn with_capacity(quota: Quota, capacity: usize) -> Result<Self, BuildError> {
        let rule = Rule::new(quota).map_err(BuildError::Quota)?;
        if capacity == 0 {
            return Err(BuildError::ZeroCapacity);
        }
        let lines = capacity.div_ceil(WAYS).max(2).checked_next_power_of_two();
        let storage = lines.and_then(Boxed::new).ok_or(BuildError::OutOfMemory { capacity })?;
        Ok(Self { quota, table: Table::new(storage, rule) })
    }
}

impl<S: Storage> RateLimiter<S> {
    /// The same limiter with another policy for newcomers that find no room.
    #[must_use]
    pub const fn with_overflow(mut self, overflow: Overflow) -> Self {
        self.table.overflow = overflow;
        self
    }

    /// Decides one request of the caller `key` at the time `now`.
    ///
    /// A service's own credential exempts the request; anything else is counted, a forgery too. A refusal
    /// counts nothing.
    ///
    /// `now` comes from a clock that does not run backwards by much. Where it does, nobody is locked out for
    /// more than a window (and under 1 % of it); a jump forward grants at most one window early, and threads
    /// whose clocks disagree by d may open a window d early.
    ///
    /// # Security
    /// The answer is as good as the key: see [`Origin`](crate::Origin) for addresses and
    /// [`Credentials::verify`](crate::Credentials::verify) for what to pass as `presented`.
    #[inline]
    pub fn check(&self, key: Key, presented: Presented, now: Nanos) -> Verdict {
        match presented {
            Presented::Service(service) => Verdict::Exempt(service),
            Presented::Absent | Presented::Forged => self.table.check(key, now, 1),
        }
    }

    /// Clears words whose window is over; how many.
    ///
    /// Times are kept on a ring, and a caller that comes back when the ring has come round may meet its old
    /// count once more, for one window at most. Sweeping once in half a ring prevents even that; half a ring
    /// is 16,000 windows or more with a limit up to 511 (13 days at a minute). It is never needed for memory:
    /// words whose window is over are used again as they are. Decisions may go on meanwhile.
    pub fn sweep(&self, now: Nanos) -> usize {
        self.table.sweep(now)
    }

    /// The quota that each caller is held to.
    pub const fn quota(&self) -> Quota {
        self.quota
    }

    /// The enforced window: the quota's, rounded down by less than 0.05 %.
    pub const fn enforced_window(&self) -> Nanos {
        self.table.rule().window()
    }

    /// How many callers have room at once.
    pub fn capacity(&self) -> usize {
        self.table.capacity()
    }

    /// What happens to a newcomer that finds no room.
    pub const fn overflow(&self) -> Overflow {
        self.table.overflow
    }

    /// How often the rare things happened.
    pub fn counts(&self) -> Counts {
        self.table.counters.read()
    }
}

impl<S: Storage> fmt::Debug for RateLimiter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RateLimiter");
        out.field("quota", &self.quota)
            .field("capacity", &self.capacity())
            .field("overflow", &self.overflow());
        out.finish_non_exhaustive()
    }
}

/// Why a limiter can't be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The quota can't be enforced.
    Quota(QuotaError),
    /// There would be room for nobody.
    ZeroCapacity,
    /// The memory is not to be had.
    OutOfMemory {
        /// The capacity asked for, in callers.
        capacity: usize,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quota(error) => error.fmt(f),
            Self::ZeroCapacity => {
                f.write_str("the capacity is 0: use twice the number of callers expected in one window")
            }
            Self::OutOfMemory { capacity } => write!(
                f,
                "there is no memory for {capacity} callers at 8 bytes each: use twice the number of callers \
                 expected in one window"
            ),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Quota(error) => Some(error),
            Self::ZeroCapacity | Self::OutOfMemory { .. } => None,
        }
    }
}
