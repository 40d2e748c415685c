//! Who is being throttled, and are they ours?

mod details;
mod distinct;
mod entry;
mod finding;
mod head;
mod lost;
mod seen;
mod set;
mod shares;
mod sighting;
mod span;

use core::fmt;

pub use finding::{Clue, Finding};
use lost::Losses;
pub use lost::Lost;
pub use seen::Seen;
use set::Set;
pub use sighting::{Noticed, Sighting};
use span::Span;

use crate::key::Key;
use crate::time::Nanos;

/// A fixed list of the callers that are being refused, or nearly so, with what tells whether they are yours.
///
/// # What
/// `N` sets of seven callers, 512 × `N` bytes. A caller is listed from its first refusal, or from its first admission at
/// 80 % of its limit, until it was not refused for the *quiet* span: that is its *spell*. Below 80 % an admission touches
/// nothing. For each caller the list has its refusals, its first and last time, the share of false credentials and of
/// internal routes, and estimates of how many distinct callers and credentials there were: [`Seen`]. From these it
/// says what the caller looks like: [`Finding`].
///
/// # Needs
/// Neither an allocator nor an operating system, as the limiter itself. It may be recorded to from interrupt handlers.
///
/// # Example
/// ```
/// use tollgate::{Credentials, Finding, Keyer, Limiter, Nanos, Noticed, Origin, Presented, Quota, Sighting, Watch};
///
/// static GATE: Limiter<64> = Limiter::new(Quota::per_minute(5));
/// static WATCH: Watch<8> = Watch::new(Nanos::from_secs(120));
///
/// let keyer = Keyer::new(*b"sixteen secret b"); // `Keyer::random()` with the feature `std`
/// let own = Credentials::<4>::new().with("edge", b"the secret that the edge presents")?;
/// let (edge, now) = (Origin::peer("203.0.113.7".parse()?), Nanos::from_secs(1));
/// for _ in 0..20 {
///     let (key, old) = (keyer.address(edge.network()), &b"the secret before it was rotated"[..]);
///     let presented = own.verify(Some(old));
///     let verdict = GATE.check(key, presented, now);
///     let Some(mut sighting) = Sighting::of(&verdict, key, now) else { continue };
///     sighting = sighting.origin(edge);
///     if presented == Presented::Forged {
///         sighting = sighting.forged(keyer.bytes(old));
///     }
///     if WATCH.record(&sighting) == Noticed::Refused {
///         println!("{edge} is being refused");
///     }
/// }
/// let seen = WATCH.snapshot(now).next().expect("the edge is listed");
/// assert_eq!((seen.origin, seen.refused), (Some(edge), 15));
/// assert!(seen.finding().is_own());
/// println!("{edge}: {}, since {}", seen.finding(), seen.finding().reason());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost
/// A refusal of a listed caller reads one cache line and writes a word in it, and writes a second line: two swaps and a
/// few relaxed loads and stores, 12 ns more than the refusal itself on a server's core. A newcomer that takes a place
/// writes all of the second line. Nothing waits and nothing allocates.
///
/// # Trade-offs
/// - A newcomer takes a vacant place; or that of a caller whose spell is over; or of the lightest caller that weighs no
///   more than the set has refusals that found no place. Otherwise its own refusal is one of these. So a caller
///   with more refusals than its set has had for others without a place is kept, however many come once: a place
///   that weighs w costs w refusals to take. (That is Misra and Gries' count with its decrements in a word of their own.
///   Space-Saving gives each newcomer the lightest place at once, and seven strangers would flush a set.)
/// - When more callers than a set has places are refused equally often, they take turns in it
///   ([`Noticed::Displacing`]): give the list some times as many places as callers are throttled at once.
/// - Refusals are exact while a caller is listed, and [`Seen::missed`] bounds what it was refused before. Two threads
///   that enter one caller at the same moment may take two places, when others come and go there; then the list shows
///   the first, what the second counted is missing, and a recovery is told of each.
/// - What is known beyond the count is not written while another thread writes to the same caller: [`Lost::details`]
///   counts how often. Shares are of what was written. A thread that is killed while it writes, within some twenty
///   instructions, leaves a place whose callers are not listed, and that is all.
/// - Times of recovery are coarse: a spell is over after the quiet span and up to a quarter of it more. A spell that
///   nobody looks at for sixteen quiet spans may seem to go on if its caller comes back: ask
///   [`recovered`](Self::recovered) more often than that.
/// - Two callers share an entry at odds of 7 in 2²⁴, 1 in 2.4 million.
///
/// # Security
/// Addresses are kept in memory until their place is taken; hints and credentials are not, but for one bit of 64 and 24.
///
/// # References
/// - Misra and Gries, "Finding repeated elements", 1982; Metwally, Agrawal and El Abbadi, "Efficient computation of
///   frequent and top-k elements in data streams", 2005 (Space-Saving); Agarwal et al., "Mergeable summaries", 2012, shows
///   that the two keep the same.
/// - Whang, Vander-Zanden and Taylor, "A linear-time probabilistic counting algorithm for database applications", 1990.
/// - Boehm, "Can seqlocks get along with programming language memory models?", 2012.
pub struct Watch<const N: usize> {
    sets: [Set; N],
    losses: Losses,
    span: Span,
}

impl<const N: usize> Watch<N> {
    /// An empty list. A caller that was not refused for `quiet` has recovered: take the longest window of your limits, or
    /// twice that, so that a caller which is refused at the end of each window has one spell and not many.
    #[cfg(not(tollgate_loom))]
    pub const fn new(quiet: Nanos) -> Self {
        const { assert!(N.is_power_of_two(), "a Watch<N> has N sets of 7 callers each: N must be a power of two") };
        Self { sets: [const { Set::vacant() }; N], losses: Losses::new(), span: Span::new(quiet) }
    }

    /// An empty list. Under loom atomics can't be made in a const.
    #[cfg(tollgate_loom)]
    pub fn new(quiet: Nanos) -> Self {
        Self { sets: core::array::from_fn(|_| Set::vacant()), losses: Losses::new(), span: Span::new(quiet) }
    }

    /// Records a request that was refused, or nearly so; what is new about its caller.
    pub fn record(&self, sighting: &Sighting) -> Noticed {
        match self.set(sighting.key.fingerprint()) {
            Some(set) => set.record(sighting, self.span, &self.losses),
            None => Noticed::Overlooked,
        }
    }

    /// How often a listed caller was refused, and may have been before it was listed; `None` if it is not listed. A look at
    /// one cache line, for those who look closely at the first refusals of a caller and at few of the others.
    pub fn refusals(&self, key: Key) -> Option<u32> {
        self.set(key.fingerprint())?.weight(key)
    }

    /// The callers that are being throttled at the time `now`, in no order. Each is whole, and what is read later is read
    /// as it is then. One that is written to at each of a few hundred looks is left out this time.
    pub fn snapshot(&self, now: Nanos) -> impl Iterator<Item = Seen> {
        self.sets.iter().flat_map(move |set| set.current(now, self.span)).map(|details| Seen::of(&details))
    }

    /// Takes out the callers whose spell is over, each as it is asked for. One that was refused is told once, here or by
    /// [`Noticed::Recovered`] or as one of [`Lost::recoveries`]; if it is refused again before anybody asks, it begins a new
    /// spell untold.
    ///
    /// A caller that stays below 80 % of its limit is never looked at, so its recovery is noticed when this is asked:
    /// before each snapshot, or once in a quiet span.
    pub fn recovered(&self, now: Nanos) -> impl Iterator<Item = Seen> {
        let sets = self.sets.iter();
        sets.flat_map(move |set| set.recovered(now, self.span, &self.losses))
            .map(|details| Seen::of(&details))
    }

    /// What could not be kept.
    pub fn lost(&self) -> Lost {
        self.losses.read(self.sets.iter().map(Set::overlooked).sum())
    }

    /// Forgets all callers. What was lost stays told.
    pub fn clear(&self) {
        self.sets.iter().for_each(Set::clear);
    }

    /// The most callers that are listed at a time.
    pub const fn capacity(&self) -> usize {
        N * set::WAYS
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "an index is cut to the number of sets anyway")]
    fn set(&self, fingerprint: u64) -> Option<&Set> {
        self.sets.get(fingerprint as usize & N.wrapping_sub(1))
    }
}

impl<const N: usize> fmt::Debug for Watch<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("capacity", &self.capacity())
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}

// A caller is one cache line and one word of another.
#[cfg(not(tollgate_loom))]
const _: () = assert!(size_of::<Set>() == 512 && align_of::<Set>() == 64 && size_of::<entry::Entry>() == 64);
