use core::error::Error;
use core::fmt;

use crate::counters::Counts;
use crate::credentials::Presented;
use crate::key::Key;
use crate::line::PLACES;
use crate::quota::{Arithmetic, FixedWindow, Quota, QuotaError, Rule};
use crate::several::{Limit, Note, Steps};
#[cfg(feature = "alloc")]
use crate::table::storage::Boxed;
use crate::table::storage::{Fixed, Storage};
use crate::table::{Overflow, Table};
use crate::time::Nanos;
use crate::verdict::{Receipt, Refusal, Standing, Verdict};
use crate::word::TAG_BITS;

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

/// A [`Limiter`] that computes fixed windows and nothing else, for programs that have no room for the other algorithms:
/// about a third less code (see `examples/firmware`).
///
/// ```
/// use tollgate::{FixedWindowLimiter, Quota};
/// static GATE: FixedWindowLimiter<64> = FixedWindowLimiter::new(Quota::per_minute(300));
/// ```
pub type FixedWindowLimiter<const N: usize> = RateLimiter<Fixed<N>, FixedWindow>;

/// A limiter whose capacity is chosen at run time.
#[cfg(feature = "alloc")]
pub type BoxedLimiter = RateLimiter<Boxed>;

/// Holds each caller to a [`Quota`]; share it by reference between all threads.
///
/// It is used as [`Limiter<N>`](Limiter) or, with the feature `alloc`, as `BoxedLimiter`, which differ in
/// where their words are. `R` is the arithmetic: of any kind of quota, or of one.
pub struct RateLimiter<S, R = Rule> {
    quota: Quota,
    table: Table<S, R>,
}

// Under loom atomics can't be made in a const.
#[cfg(not(tollgate_loom))]
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
            Ok(rule) => {
                Ok(Self { quota, table: Table::new(Fixed::new(), rule, rule.dial(), Overflow::Inherit) })
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(not(tollgate_loom))]
impl<const N: usize> RateLimiter<Fixed<N>, FixedWindow> {
    /// A limiter for a `static` or `const`, where a quota that can't be enforced is a compile error.
    ///
    /// # Panics
    /// If it is called at run time with a quota that fails [`Quota::validate`] or is not of a fixed window; then use
    /// [`FixedWindowLimiter::try_new`](Self::try_new).
    pub const fn new(quota: Quota) -> Self {
        match Self::try_new(quota) {
            Ok(limiter) => limiter,
            Err(error) => panic!("{}", error.message()),
        }
    }

    /// A limiter for a quota that is known at run time only.
    ///
    /// # Errors
    /// If the quota can't be enforced, or is not of a fixed window.
    pub const fn try_new(quota: Quota) -> Result<Self, QuotaError> {
        match quota.fixed_window() {
            Ok(rule) => {
                Ok(Self { quota, table: Table::new(Fixed::new(), rule, rule.dial(), Overflow::Inherit) })
            }
            Err(error) => Err(error),
        }
    }

    /// As [`Limiter::set_quota`](RateLimiter::set_quota).
    ///
    /// # Errors
    /// As there, and if the quota is not of a fixed window.
    pub fn set_quota(&self, quota: Quota) -> Result<(), SetQuotaError> {
        self.set_rule(quota.fixed_window())
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
        let storage = Boxed::for_callers(capacity).ok_or(BuildError::without_room(capacity))?;
        Ok(Self { quota, table: Table::new(storage, rule, rule.dial(), Overflow::Inherit) })
    }
}

/// Words that are read ahead: more than a core can wait for at once, and few enough to stay in its first cache.
const BATCH: usize = 64;

impl<S: Storage> RateLimiter<S> {
    /// Holds callers to another quota from now on; counts stay.
    ///
    /// # Errors
    /// If the quota can't be enforced, or if the counts would not mean the same under it: it must be of the same
    /// kind, its window of a similar length (the same power of two; with a sliding window the same) and its limit
    /// of as many binary digits (with GCRA: its interval of a similar length).
    pub fn set_quota(&self, quota: Quota) -> Result<(), SetQuotaError> {
        self.set_rule(Rule::new(quota))
    }
}

impl<S: Storage, R: Arithmetic> RateLimiter<S, R> {
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
    /// `now` comes from a clock that does not run backwards by much. Where it does, nobody is locked out for more than
    /// a window (with GCRA, the time of a burst and half of it), and the larger of 1/128 of it and 100 ms. A jump
    /// forward grants at most one window early. Threads whose clocks disagree by up to 100 ms gain nothing; by more,
    /// they may open a window that much early.
    ///
    /// # Security
    /// The answer is as good as the key: see [`Origin`](crate::Origin) for addresses and
    /// [`Credentials::verify`](crate::Credentials::verify) for what to pass as `presented`.
    #[expect(
        clippy::inline_always,
        reason = "behind a call it takes a third longer, for one who asks only whether it passes"
    )]
    #[inline(always)]
    pub fn check(&self, key: Key, presented: Presented, now: Nanos) -> Verdict {
        match self.table.counters.note(presented) {
            Some(service) => Verdict::Exempt(service),
            None => self.table.check(key, now, 1),
        }
    }

    /// Decides one request, without a credential, where that takes a few instructions: `None` if nothing is decided, and
    /// [`check`](Self::check) is to be asked.
    // For callers that go on otherwise with what is in registers than with what another function has left in memory.
    #[doc(hidden)]
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub fn check_at_home(&self, key: Key, now: Nanos) -> Option<Verdict> {
        self.table.check_at_home(key, now, 1)
    }

    /// Decides one request that costs as much as `cost` ordinary ones: a batch, a large upload.
    ///
    /// A cost of 0 is admitted and written nowhere. A cost above the limit is refused with
    /// [`Reason::CostAboveLimit`](crate::Reason::CostAboveLimit).
    #[inline]
    pub fn check_n(&self, key: Key, presented: Presented, now: Nanos, cost: u32) -> Verdict {
        match self.table.counters.note(presented) {
            Some(service) => Verdict::Exempt(service),
            None => self.table.check_n(key, now, cost),
        }
    }

    /// Decides one request of each of these callers, in their order: what [`check`](Self::check) would answer one after
    /// the other, when nobody presents a credential. A caller that stands twice is charged twice.
    ///
    /// The callers' words are read ahead, 64 at a time, so that memory that is not in a cache is waited for once and not
    /// for each: for those who decide in batches, such as the frames of a network card or the lines of a log.
    ///
    /// ```
    /// use tollgate::{Keyer, Limiter, Nanos, Quota};
    /// static LIMITER: Limiter<64> = Limiter::new(Quota::per_minute(1));
    /// let keyer = Keyer::new(*b"sixteen secrets!");
    /// let (ann, ben) = (keyer.bytes(b"ann"), keyer.bytes(b"ben"));
    /// let mut passed = 0;
    /// LIMITER.check_many(&[ann, ben, ann], Nanos(0), |_, verdict| passed += u32::from(verdict.passes()));
    /// assert_eq!(passed, 2);
    /// ```
    pub fn check_many(&self, keys: &[Key], now: Nanos, mut answer: impl FnMut(Key, Verdict)) {
        for batch in keys.chunks(BATCH) {
            self.table.read_ahead(batch);
            for &key in batch {
                answer(key, self.table.check(key, now, 1));
            }
        }
    }

    /// Where a caller stands. Nothing is counted or written.
    pub fn peek(&self, key: Key, now: Nanos) -> Standing {
        self.table.peek(key, now)
    }

    /// The time, from `now`, until a caller that was just admitted may have more than what remains to it: with a fixed
    /// window until the next one, with GCRA an interval at most. Zero if the whole limit remains;
    /// where nothing was charged, until all is there again.
    pub fn more_in(&self, standing: &Standing, now: Nanos) -> Nanos {
        self.table.more_in(standing, now)
    }

    /// Gives back what an admitted request was charged, for example because it failed through no fault of the
    /// caller; whether it still counted.
    ///
    /// Nothing happens if the charge is gone: its window has passed, or the caller has no word any more because another
    /// took it over. Refund a receipt once, and not after [`clear`](Self::clear), which gave the charge back already:
    /// a receipt is a plain value, and the limiter can't know that another one's charge pays for it.
    pub fn refund(&self, receipt: Receipt, now: Nanos) -> bool {
        self.table.refund(receipt, now)
    }

    /// Gives a caller its whole limit again; whether it had used any. Nothing of any other caller changes.
    pub fn clear(&self, key: Key, now: Nanos) -> bool {
        self.table.clear(key, now)
    }

    fn set_rule(&self, rule: Result<R, QuotaError>) -> Result<(), SetQuotaError> {
        let rule = rule.map_err(SetQuotaError::Quota)?;
        if self.table.set_rule(&rule) { Ok(()) } else { Err(SetQuotaError::NotAlike) }
    }

    /// Clears words whose time is a whole window past; how many.
    ///
    /// Words whose window is over are used again as they are, without a sweep. But times are kept on a ring: a word
    /// that nobody looked at for half of it seems to lie ahead, and may restrain its caller, or take a newcomer's
    /// room, once more for one window at most. A sweep once in [`sweep_interval`](Self::sweep_interval) prevents
    /// even that. Decisions may go on meanwhile.
    pub fn sweep(&self, now: Nanos) -> usize {
        self.table.sweep(now)
    }

    /// How often to [`sweep`](Self::sweep), at least: a quarter of the ring of times, at a minute's window 6 days with
    /// a limit of 300 and 5 minutes with a million.
    pub fn sweep_interval(&self) -> Nanos {
        self.table.rule().quarter_ring()
    }

    /// The quota that the limiter was built with.
    pub const fn quota(&self) -> Quota {
        self.quota
    }

    /// The most that passes at once, now: the limit, or the burst.
    pub fn limit(&self) -> u32 {
        self.table.rule().limit()
    }

    /// The time, rounded as it is enforced, in which a caller that has used everything has everything again; with a
    /// sliding window, half of it.
    pub fn enforced_window(&self) -> Nanos {
        self.table.rule().window()
    }

    /// How full the table is. It looks at every slot, so it is not for each request.
    pub fn occupancy(&self, now: Nanos) -> Occupancy {
        let (restraining, idle) = self.table.occupied(now);
        Occupancy { capacity: self.capacity(), restraining, idle }
    }

    /// The odds, at most, that a caller shares its word with a stranger, when its sixteen candidate slots are full:
    /// sixteen tags of 27 bits, 1.2 in ten million.
    #[expect(clippy::cast_precision_loss, reason = "16 and a power of two are exact")]
    pub const fn collision_odds(&self) -> f64 {
        PLACES as f64 / (1_u64 << TAG_BITS) as f64
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

impl<S: Storage, R: Arithmetic> Limit for RateLimiter<S, R> {}

impl<S: Storage, R: Arithmetic> Steps for RateLimiter<S, R> {
    fn foresee(&self, key: Key, now: Nanos, cost: u32) -> Result<(), Refusal> {
        self.table.foresee(key, now, cost)
    }

    fn charge(&self, key: Key, now: Nanos, cost: u32) -> Verdict {
        self.table.check_n(key, now, cost)
    }

    fn undo(&self, receipt: Receipt, now: Nanos) {
        self.table.refund(receipt, now);
    }

    fn note(&self, note: Note) {
        self.table.counters.add(note.into());
    }
}

impl<S: Storage, R: Arithmetic> fmt::Debug for RateLimiter<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RateLimiter");
        out.field("quota", &self.quota)
            .field("capacity", &self.capacity())
            .field("overflow", &self.overflow());
        out.finish_non_exhaustive()
    }
}

/// How full a table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Occupancy {
    /// Slots in all.
    pub capacity: usize,
    /// Slots whose word restrains somebody. From half of the capacity on the table is too small.
    pub restraining: usize,
    /// Slots whose word restrains nobody any more, and which newcomers use as if they were empty.
    pub idle: usize,
}

/// Why a limiter can't be held to another quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SetQuotaError {
    /// The quota can't be enforced.
    Quota(QuotaError),
    /// The callers' counts would not mean the same.
    NotAlike,
}

impl fmt::Display for SetQuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quota(error) => error.fmt(f),
            Self::NotAlike => f.write_str(
                "counts would not mean the same under this quota: keep the algorithm, a window of a similar length \
                 and a limit of as many binary digits, or build another limiter",
            ),
        }
    }
}

impl Error for SetQuotaError {}

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

#[cfg(feature = "alloc")]
impl BuildError {
    /// Why there is no room for so many callers.
    pub(crate) const fn without_room(capacity: usize) -> Self {
        if capacity == 0 { Self::ZeroCapacity } else { Self::OutOfMemory { capacity } }
    }
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

impl Error for BuildError {}
