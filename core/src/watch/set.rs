use super::details::Details;
use super::entry::Entry;
use super::head::{HEAVIEST, Head, Tag};
use super::lost::{Loss, Losses};
use super::sighting::{Noticed, Sighting};
use super::span::Span;
use crate::key::Key;
use crate::sync::{AtomicU64, Ordering, fence};
use crate::time::Nanos;

/// Callers of a set. Loom explores sets of two: more would add callers that no thread touches.
pub(super) const WAYS: usize = if cfg!(tollgate_loom) { 2 } else { 7 };

/// Places for callers that share some bits: a cache line of words, and a line of details for each of them.
///
/// The words say who is there and how heavily it weighs, so that one line tells whether a caller is listed and, if not,
/// whose place it may have. Beside them is the weight that it takes to keep a place.
#[repr(C, align(64))]
pub(super) struct Set {
    heads: [AtomicU64; WAYS],
    /// Refusals of callers for whom there was no place.
    overlooked: AtomicU64,
    entries: [Entry; WAYS],
}

/// One of them.
#[derive(Clone, Copy)]
struct Place<'s> {
    head: &'s AtomicU64,
    entry: &'s Entry,
}

/// What a sighting does to a word.
struct Step<'s> {
    place: Place<'s>,
    from: Head,
    to: Head,
    noticed: Noticed,
    loss: Option<Loss>,
}

impl Set {
    #[cfg(not(tollgate_loom))]
    pub(super) const fn vacant() -> Self {
        let heads = [const { AtomicU64::new(0) }; WAYS];
        Self { heads, overlooked: AtomicU64::new(0), entries: [const { Entry::vacant() }; WAYS] }
    }

    #[cfg(tollgate_loom)]
    pub(super) fn vacant() -> Self {
        let heads = [0; WAYS].map(AtomicU64::new);
        Self { heads, overlooked: AtomicU64::new(0), entries: core::array::from_fn(|_| Entry::vacant()) }
    }

    pub(super) fn record(&self, sighting: &Sighting, span: Span, losses: &Losses) -> Noticed {
        let (tag, tick) = (Tag::of(sighting.key), span.tick(sighting.now));
        // Each turn but the last was another thread's success.
        let step = loop {
            // Looked at once: a second look could find the place taken that another thread has just given to this caller, and
            // give it another.
            let seen = self.heads.each_ref().map(load);
            let step = match self.find(&seen, tag) {
                Some((place, from)) if !span.is_over(from, tick) => {
                    let is_first = sighting.refused && !from.was_refused();
                    let noticed = if is_first { Noticed::Refused } else { Noticed::Again };
                    Step { place, from, to: from.again(tick, sighting.refused), noticed, loss: None }
                }
                known => {
                    let Some(step) = self.enter(&seen, known, sighting, span) else {
                        self.overlook(sighting, losses);
                        return Noticed::Overlooked;
                    };
                    step
                }
            };
            if step.from == step.to || step.place.swap(step.from, step.to) {
                break step;
            }
        };
        if let Some(loss) = step.loss {
            losses.add(loss);
        }
        if !step.place.entry.note(step.place.head, tag, sighting) {
            losses.add(Loss::Detail);
        }
        step.noticed
    }

    /// How heavily a listed caller weighs.
    pub(super) fn weight(&self, key: Key) -> Option<u32> {
        let seen = self.heads.each_ref().map(load);
        self.find(&seen, Tag::of(key)).map(|(_, head)| head.weight())
    }

    fn places(&self) -> impl Iterator<Item = Place<'_>> {
        self.heads.iter().zip(&self.entries).map(|(head, entry)| Place { head, entry })
    }

    /// All places with the words that were seen there.
    #[inline]
    fn seen(&self, seen: &[Head; WAYS]) -> impl Iterator<Item = (Place<'_>, Head)> {
        self.places().zip(*seen)
    }

    /// The caller's place: the first, should two threads have entered it at once.
    #[inline]
    fn find(&self, seen: &[Head; WAYS], tag: Tag) -> Option<(Place<'_>, Head)> {
        self.seen(seen).find(|(_, head)| head.belongs_to(tag))
    }

    /// A new spell of a caller, in the place of its last one, if it has one, or in another's.
    #[cold]
    #[inline(never)]
    fn enter<'s>(
        &'s self,
        seen: &[Head; WAYS],
        known: Option<(Place<'s>, Head)>,
        sighting: &Sighting,
        span: Span,
    ) -> Option<Step<'s>> {
        let (refused, tick) = (sighting.refused, span.tick(sighting.now));
        // ORDERING: pairs with the release in `swap`: a caller that finds itself displaced sees the count that outweighed it,
        // or a later one, so that it is told to have been missed as often.
        fence(Ordering::Acquire);
        let outweighed = u32::try_from(self.overlooked()).unwrap_or(HEAVIEST).min(HEAVIEST - 1);
        let rank = |head: Head| match head {
            Head::VACANT => Some(0),
            _ if span.is_over(head, tick) => Some(1 + u8::from(head.was_refused())),
            _ if refused && head.weight() <= outweighed => Some(3),
            _ => None,
        };
        let free =
            self.seen(seen).filter_map(|(place, head)| Some((rank(head)?, head.weight(), place, head)));
        let lightest = free.min_by_key(|&(rank, weight, ..)| (rank, weight));
        let (place, from) = known.or(lightest.map(|(.., place, head)| (place, head)))?;
        let to = Head::entered(Tag::of(sighting.key), tick, refused, outweighed + u32::from(refused));
        let is_displaced = !span.is_over(from, tick) && from != Head::VACANT;
        let noticed = match known {
            Some((_, head)) if head.was_refused() && !refused => Noticed::Recovered,
            None if is_displaced => Noticed::Displacing,
            _ if refused => Noticed::Refused,
            _ => Noticed::Near,
        };
        let loss = if is_displaced { Loss::Caller } else { Loss::Recovery };
        let loss = (known.is_none() && from.was_refused()).then_some(loss);
        Some(Step { place, from, to, noticed, loss })
    }

    #[cold]
    fn overlook(&self, sighting: &Sighting, losses: &Losses) {
        if sighting.refused {
            // ORDERING: a count is read by itself and orders nothing.
            self.overlooked.fetch_add(1, Ordering::Relaxed);
        } else {
            losses.add(Loss::Near);
        }
    }

    pub(super) fn overlooked(&self) -> u64 {
        // ORDERING: as above.
        self.overlooked.load(Ordering::Relaxed)
    }

    /// The callers whose spell is not over.
    pub(super) fn current(&self, now: Nanos, span: Span) -> impl Iterator<Item = Details> {
        self.places().enumerate().filter_map(move |(way, place)| {
            let details = place.entry.read(place.head)?;
            let is_second = self.places().take(way).any(|other| load(other.head).is_same(details.head));
            let is_over = span.is_over_at(details.head, details.last(), now);
            (!is_second && !is_over).then_some(details)
        })
    }

    /// Takes out the callers whose spell is over; those of them that were refused.
    pub(super) fn recovered(&self, now: Nanos, span: Span, losses: &Losses) -> impl Iterator<Item = Details> {
        self.places().filter_map(move |place| {
            let head = load(place.head);
            let details = place.entry.read(place.head).filter(|details| details.head == head);
            let is_over = match &details {
                Some(details) => span.is_over_at(head, details.last(), now),
                None => span.is_over(head, span.tick(now)),
            };
            if head == Head::VACANT || !is_over || !place.swap(head, Head::VACANT) || !head.was_refused() {
                return None;
            }
            if details.is_none() {
                losses.add(Loss::Recovery);
            }
            details
        })
    }

    pub(super) fn clear(&self) {
        for place in self.places() {
            // ORDERING: relaxed: nothing rests on a vacant word. A swap, as every change of a word: see `Entry`.
            place.head.swap(Head::VACANT.bits(), Ordering::Relaxed);
        }
    }
}

impl Place<'_> {
    #[inline]
    fn swap(self, from: Head, to: Head) -> bool {
        // ORDERING: release pairs with the fence in `enter`. What is known of a caller is ordered by the entry's lock. It must
        // be a swap: a plain store would end what the fence in `Entry::note` began.
        self.head.compare_exchange(from.bits(), to.bits(), Ordering::Release, Ordering::Relaxed).is_ok()
    }
}

#[inline]
fn load(head: &AtomicU64) -> Head {
    // ORDERING: a word that is out of date fails the swap that rests on it.
    Head::from_bits(head.load(Ordering::Relaxed))
}
