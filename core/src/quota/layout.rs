/// How the states of a quota are laid out, for a store outside this crate that keeps the same states: a script in a
/// database, which must compute as this crate does. See [`Account`](crate::Account).
///
/// A state has 36 bits. Ticks are 2^`shift` nanoseconds long, and the tick of a time is the number of ticks before it,
/// plus 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// `[ tick of the start | count ]`.
    FixedWindow {
        /// Requests that a window admits.
        limit: u32,
        /// The window's length in ticks.
        window: u32,
        /// A tick has 2^shift nanoseconds.
        shift: u8,
        /// The count's width; the tick has the rest, on a ring.
        count_bits: u8,
        /// By how many ticks a start may lie ahead of the clock and be kept; further, it counts as now.
        kept: u64,
    },
    /// `[ number of the window | previous count | current count ]`.
    SlidingWindow {
        /// Requests in sight at most.
        limit: u32,
        /// The window's length in ticks.
        window: u32,
        /// A tick has 2^shift nanoseconds.
        shift: u8,
        /// The width of each count; the window's number has the rest, on a ring.
        count_bits: u8,
    },
    /// `[ tick of the theoretical arrival time ]`, on a ring.
    Gcra {
        /// The most that passes at once.
        burst: u32,
        /// The time of one request in ticks.
        interval: u32,
        /// A tick has 2^scale nanoseconds; below zero it is a part of one.
        scale: i8,
        /// The most debt that is admitted, in ticks.
        most: u64,
        /// By how many ticks a debt may exceed that and be kept; further, it counts as `burst` intervals.
        kept: u64,
    },
}
