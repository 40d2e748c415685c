use core::fmt;

use crate::key::Key;
#[cfg(feature = "alloc")]
use crate::limiter::BuildError;
use crate::quota::Note as Rule;
#[cfg(feature = "alloc")]
use crate::table::storage::Boxed;
use crate::table::storage::{Fixed, Storage};
use crate::table::{Overflow, Table};
use crate::time::Nanos;

/// Notes in a static or inside another value: `N` cache lines, room for 8 × `N` callers.
pub type FixedNotes<const N: usize> = Notes<Fixed<N>>;

/// Notes whose capacity is chosen at run time.
#[cfg(feature = "alloc")]
pub type BoxedNotes = Notes<Boxed>;

/// Remembers a number of each caller until a time: credit that a node was lent, or how long nothing is to be had.
///
/// It is the same table as a limiter's, with another kind of state. When all candidate slots of a caller hold what others
/// need, nothing is remembered of it: nobody is ever displaced, and nobody is taken for another.
///
/// ```
/// use tollgate::{FixedNotes, Key, Nanos, Note};
/// let notes = FixedNotes::<64>::try_new(Nanos::from_secs(60), 4095)?;
///
/// # let key = Key::from_fingerprint(0x1234_5678_9abc_def0);
/// let now = Nanos::from_secs(1);
/// notes.update(key, now, |_| Some(Note { lasts: Nanos::from_secs(10), number: 3 }));
/// let spent = |note: Note| Some(Note { number: note.number.checked_sub(1)?, ..note });
/// assert_eq!(notes.update(key, now, |note| spent(note?)).map(|note| note.number), Some(2));
/// assert_eq!(notes.read(key, Nanos::from_secs(11)), None);
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
pub struct Notes<S> {
    table: Table<S, Rule>,
}

/// What is remembered of a caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note {
    /// For how long from now. It is rounded down, by less than 1/2,048 of the longest time.
    pub lasts: Nanos,
    /// What.
    pub number: u32,
}

/// An insertion that meets others' is tried again so often.
const TRIES: usize = 4;

// Under loom atomics can't be made in a const.
#[cfg(not(tollgate_loom))]
impl<const N: usize> Notes<Fixed<N>> {
    /// Notes of numbers up to `most` that last up to `longest`.
    ///
    /// # Errors
    /// If `longest` is 0, or `most` does not fit beside it (it is below 2²²).
    pub const fn try_new(longest: Nanos, most: u32) -> Result<Self, crate::quota::QuotaError> {
        match Rule::new(longest, most) {
            Ok(rule) => Ok(Self { table: Table::new(Fixed::new(), rule, rule.dial(), Overflow::Refuse) }),
            Err(error) => Err(error),
        }
    }
}

#[cfg(feature = "alloc")]
impl Notes<Boxed> {
    /// Notes of numbers up to `most` that last up to `longest`, for at least `capacity` callers.
    ///
    /// # Errors
    /// If `longest` is 0 or `most` does not fit beside it (it is below 2²²), the capacity is 0, or the memory is not to
    /// be had.
    pub fn with_capacity(longest: Nanos, most: u32, capacity: usize) -> Result<Self, BuildError> {
        let rule = Rule::new(longest, most).map_err(BuildError::Quota)?;
        let storage = Boxed::for_callers(capacity).ok_or(BuildError::without_room(capacity))?;
        Ok(Self { table: Table::new(storage, rule, rule.dial(), Overflow::Refuse) })
    }
}

impl<S: Storage> Notes<S> {
    /// What is remembered of a caller.
    pub fn read(&self, key: Key, now: Nanos) -> Option<Note> {
        let rule = self.table.rule();
        self.table.state(key).and_then(|state| note(&rule, state, now))
    }

    /// Changes what is remembered of a caller, in one step whoever else does; what was written, `None` if `change` gave
    /// nothing or there is no room. `change` may be called several times.
    pub fn update(
        &self,
        key: Key,
        now: Nanos,
        change: impl Fn(Option<Note>) -> Option<Note>,
    ) -> Option<Note> {
        let rule = self.table.rule();
        let at = rule.moment(now);
        let changed = |before| change(before).map(|note| rule.noted(at, note.lasts, note.number));
        for _ in 0..TRIES {
            if self.table.state(key).is_none() {
                changed(None)?;
                // A request of nothing makes the caller's word.
                if !self.table.check(key, now, 0).passes() {
                    return None;
                }
            }
            // What was to be written over what was found, if anything was.
            let mut wanted = None;
            let is_written = self.table.rewrite(key, |state| {
                let state = changed(note(&rule, state, now));
                wanted = Some(state);
                state
            });
            if let Some(state) = wanted {
                let written = state.filter(|_| is_written);
                return written.map(|state| note(&rule, state, now).unwrap_or(NOTHING));
            }
        }
        None
    }

    /// Clears words that are long over; how many. Do so at least once in [`sweep_interval`](Self::sweep_interval), and
    /// before the first use after more than that: times are kept on a ring, so an older note would come back.
    pub fn sweep(&self, now: Nanos) -> usize {
        self.table.sweep(now)
    }

    /// How often to [`sweep`](Self::sweep), at least: a quarter of the ring of times.
    pub fn sweep_interval(&self) -> Nanos {
        self.table.rule().quarter_ring()
    }

    /// What times are rounded down to.
    pub fn tick(&self) -> Nanos {
        self.table.rule().shortest_wait()
    }

    /// The largest number that is remembered.
    pub fn most(&self) -> u32 {
        self.table.rule().limit()
    }

    /// How many callers have room at once.
    pub fn capacity(&self) -> usize {
        self.table.capacity()
    }
}

impl<S: Storage> fmt::Debug for Notes<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notes").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// What was written when it was over at once.
const NOTHING: Note = Note { lasts: Nanos::ZERO, number: 0 };

fn note(rule: &Rule, state: u64, now: Nanos) -> Option<Note> {
    let (lasts, number) = rule.read(state, rule.moment(now))?;
    Some(Note { lasts, number })
}
