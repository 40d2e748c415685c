//! What is known of one caller besides its word: a cache line behind a sequence lock that nobody waits for.
//!
//! [`details`] has the layout.
//!
//! # Why no reader mixes two callers
//! A caller's word is *bare* from the moment when it takes a place; only who holds the lock, and has written all of
//! the entry anew for this caller, makes it *told*, by a swap from the very word that the new base was computed from.
//!
//! 1. A word changes hands without the lock, so a writer may find itself in the entry of a caller that is gone. It
//!    does no harm: the word of whoever came after is bare until somebody has had the lock after that writer.
//! 2. A reader takes a told word and an entry between two looks at the lock that agree. The swap that made this word
//!    told came after its author's lock was taken, so if the reader's first look was earlier the second sees it.
//! 3. Who finds the lock taken writes nothing. So a thread that is stopped while it holds the lock costs its entry
//!    what is known beyond the count, and keeps nobody waiting, not even an interrupt handler that stopped it.

use super::details::{self, BEGIN, CREDENTIALS, Details, HIGH, HINTS, KEY, LAST, LOCK, LOW, SHARES};
use super::distinct;
use super::head::{Head, Tag};
use super::shares::{Shares, halves};
use super::sighting::Sighting;
use crate::sync::{AtomicU64, Ordering, fence};

/// One cache line.
pub(super) struct Entry([AtomicU64; 8]);

impl Entry {
    #[cfg(not(tollgate_loom))]
    pub(super) const fn vacant() -> Self {
        Self([const { AtomicU64::new(0) }; 8])
    }

    #[cfg(tollgate_loom)]
    pub(super) fn vacant() -> Self {
        Self([0; 8].map(AtomicU64::new))
    }

    /// Writes down a sighting of the caller whose word is `head`; whether it could.
    #[inline]
    pub(super) fn note(&self, head: &AtomicU64, tag: Tag, sighting: &Sighting) -> bool {
        // ORDERING: relaxed, since the swap checks it.
        let open = self.0[LOCK].load(Ordering::Relaxed);
        // ORDERING: acquire pairs with the release below of whoever wrote last: its words, and what it did to `head`, are seen.
        let take = |open| self.0[LOCK].compare_exchange(open, open + 1, Ordering::Acquire, Ordering::Relaxed);
        if open % 2 == 1 || take(open).is_err() {
            return false;
        }
        // ORDERING: pairs with the fence in `read`: who has seen a word written below, or the caller told, sees the lock taken.
        fence(Ordering::Release);
        let noted = self.write(head, tag, sighting);
        // ORDERING: release pairs with the acquire above and in `read`: who sees the lock open sees the words.
        self.0[LOCK].store(open + 2, Ordering::Release);
        noted
    }

    /// As [`note`](Self::note), with the lock held.
    #[inline]
    fn write(&self, head: &AtomicU64, tag: Tag, sighting: &Sighting) -> bool {
        // ORDERING: relaxed. A told word that is seen here is its caller's until somebody else has the lock; a word
        // that is out of date was followed by a bare one, and nobody reads the entry of that.
        let mut word = Head::from_bits(head.load(Ordering::Relaxed));
        for _ in 0..TRIES {
            match word {
                _ if !word.belongs_to(tag) => return false,
                _ if !word.is_bare() => {
                    self.update(word, sighting);
                    return true;
                }
                _ => self.begin(word, sighting),
            }
            // ORDERING: relaxed, made a release by the fence in `note`: who sees the word told sees the lock taken by its author.
            // Every later change of the word is a swap, so what it carries stays visible through them.
            match head.compare_exchange(word.bits(), word.told().bits(), Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(now) => word = Head::from_bits(now),
            }
        }
        false
    }

    /// Begins anew for a caller of which nothing is known but this sighting, and the weight of its word.
    #[cold]
    fn begin(&self, word: Head, sighting: &Sighting) {
        let (high, low) = halves(sighting.origin);
        self.set(KEY, sighting.key.fingerprint());
        self.set(HIGH, high);
        self.set(LOW, low);
        // Of the weight of a refused caller one refusal at least is of this spell; of the others nothing is known.
        let base = word.weight().saturating_sub(word.was_refused().into());
        self.set(BEGIN, details::begin(sighting.now, base));
        self.set(LAST, details::last(sighting.now) | credential(sighting));
        self.set(HINTS, hint(sighting));
        let shares = Shares::of(sighting.origin);
        self.set(SHARES, shares.with(sighting.forged, sighting.internal).bits());
    }

    /// Adds a sighting to what is known.
    #[inline]
    fn update(&self, word: Head, sighting: &Sighting) {
        let was = self.word(LAST);
        let at = if sighting.refused || !word.was_refused() {
            details::last(sighting.now)
        } else {
            was & !CREDENTIALS
        };
        self.set(LAST, at | was & CREDENTIALS | credential(sighting));
        self.set(HINTS, self.word(HINTS) | hint(sighting));
        let shares = Shares::from_bits(self.word(SHARES));
        self.set(SHARES, shares.with(sighting.forged, sighting.internal).bits());
    }

    /// The caller in this place, unless there is none, it is bare, or somebody writes at each look.
    pub(super) fn read(&self, head: &AtomicU64) -> Option<Details> {
        for _ in 0..LOOKS {
            // ORDERING: acquire pairs with the release in `note`.
            let before = self.0[LOCK].load(Ordering::Acquire);
            if before % 2 == 1 {
                core::hint::spin_loop();
                continue;
            }
            // ORDERING: relaxed, made an acquire by the fence below.
            let word = Head::from_bits(head.load(Ordering::Relaxed));
            if word.is_vacant() || word.is_bare() {
                return None;
            }
            // ORDERING: relaxed, checked by the second look.
            let words = self.0.each_ref().map(|word| word.load(Ordering::Relaxed));
            // ORDERING: pairs with the fence in `note`: if any word here was written after the
            // first look, or the caller was told after it, the second look sees that the lock was taken.
            fence(Ordering::Acquire);
            // ORDERING: ordered by the fence.
            if self.0[LOCK].load(Ordering::Relaxed) == before {
                return Some(Details::new(word, words));
            }
        }
        None
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        // ORDERING: ordered by the lock, which is held.
        self.0[index].load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, index: usize, word: u64) {
        // ORDERING: as above.
        self.0[index].store(word, Ordering::Relaxed);
    }
}

#[inline]
fn hint(sighting: &Sighting) -> u64 {
    sighting.hint.map_or(0, distinct::bit)
}

#[inline]
fn credential(sighting: &Sighting) -> u64 {
    sighting.credential.map_or(0, distinct::small_bit)
}

/// How often a writer computes the base anew because the caller was counted meanwhile.
const TRIES: usize = 4;
/// How often a reader looks before it leaves out a caller. Writers hold the lock for some nanoseconds and do other things in
/// between, so few looks in a row fail, unless a writer was stopped while it held the lock.
const LOOKS: usize = if cfg!(tollgate_loom) { 2 } else { 256 };

#[cfg(all(test, not(tollgate_loom)))]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::time::Nanos;

    const NOW: Nanos = Nanos::from_secs(1_000);

    fn sighting(caller: u64) -> Sighting {
        Sighting::refused(Key::from_fingerprint(caller << 40), NOW).hint(Key::from_fingerprint(caller << 58))
    }

    fn word(caller: u64, weight: u32) -> Head {
        Head::entered(Tag::of(sighting(caller).key), 0, true, weight)
    }

    fn note(entry: &Entry, head: &AtomicU64, caller: u64) -> bool {
        entry.note(head, Tag::of(sighting(caller).key), &sighting(caller))
    }

    #[test]
    fn a_bare_word_is_told_by_its_own_caller_alone() {
        let (entry, head) = (Entry::vacant(), AtomicU64::new(word(1, 5).bits()));
        assert!(entry.read(&head).is_none(), "nothing is known yet");
        assert!(!note(&entry, &head, 2), "a caller that is gone");
        assert!(entry.read(&head).is_none());
        assert!(note(&entry, &head, 1));
        let details = entry.read(&head).unwrap();
        assert_eq!((details.key(), details.head, details.base()), (sighting(1).key, word(1, 5).told(), 4));
        // Taken over: what is there is the other's.
        head.store(word(2, 9).bits(), Ordering::Relaxed);
        assert!(entry.read(&head).is_none() && !note(&entry, &head, 1) && entry.read(&head).is_none());
        assert!(note(&entry, &head, 2) && note(&entry, &head, 2));
        let details = entry.read(&head).unwrap();
        assert_eq!(
            (details.key(), details.hints(), details.shares().sightings()),
            (sighting(2).key, 1 << 2, 2)
        );
    }

    // Killed while it held the lock, or interrupted there by whoever comes now.
    #[test]
    fn a_lock_that_is_held_keeps_nobody_waiting() {
        let (entry, head) = (Entry::vacant(), AtomicU64::new(word(1, 1).bits()));
        assert!(note(&entry, &head, 1));
        let open = entry.0[LOCK].load(Ordering::Relaxed);
        entry.0[LOCK].store(open + 1, Ordering::Relaxed);
        assert!(!note(&entry, &head, 1) && entry.read(&head).is_none());
        entry.0[LOCK].store(open + 2, Ordering::Relaxed);
        assert_eq!(entry.read(&head).unwrap().shares().sightings(), 1);
    }

    #[test]
    fn times_and_credentials_share_words_without_touching() {
        let (entry, head) = (Entry::vacant(), AtomicU64::new(word(1, 1).bits()));
        let late = Nanos(u64::MAX);
        for top in 0..=255_u64 {
            let forged = sighting(1).forged(Key::from_fingerprint(top << 56));
            assert!(entry.note(&head, Tag::of(forged.key), &Sighting { now: late, ..forged }));
        }
        let details = entry.read(&head).unwrap();
        assert_eq!(details.credentials(), CREDENTIALS);
        assert_eq!(
            (details.last().0 | CREDENTIALS, details.first().0 | ((1 << 30) - 1)),
            (u64::MAX, (1 << 62) - 1)
        );
    }
}
