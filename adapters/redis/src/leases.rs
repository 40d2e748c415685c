use std::cell::Cell;

use tollgate::{Account, BoxedNotes, BuildError, Key, Layout, Nanos, Note};

use crate::lease::{LARGEST, Lease, MOST};

/// What this node was lent from a shared budget, caller by caller, and which refusals it remembers.
pub struct Leases {
    notes: BoxedNotes,
    /// What the store said last: how much remains beyond what was lent, and when all is there again, or something.
    said: BoxedNotes,
    /// With GCRA, credit fades by one request in this time.
    fades: Option<Nanos>,
    /// The largest lease.
    largest: u32,
    /// Refusals are remembered for no longer.
    memory: Nanos,
}

/// What this node knows about a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// It passes, by credit; what remains, as far as is known, and when all is there again.
    Admitted {
        /// Requests.
        remaining: u32,
        /// From now.
        resets_in: Nanos,
        /// When the lease that it was spent of is over, by the node's clock.
        ends: Nanos,
    },
    /// It does not.
    Refused {
        /// From now.
        retry_after: Nanos,
    },
    /// Nothing: the store has to be asked.
    Nothing,
}

/// The largest number that fits beside a time.
const MOST_SAID: u32 = (1 << 22) - 1;

impl Leases {
    /// Leases of up to `largest` and refusals remembered up to `memory`.
    ///
    /// # Errors
    /// As for [`BoxedNotes`].
    pub fn new(account: &Account, largest: u32, memory: Nanos, capacity: usize) -> Result<Self, BuildError> {
        let window = account.window();
        let longest = match account.layout() {
            Layout::FixedWindow { .. } => window,
            Layout::SlidingWindow { .. } | Layout::Gcra { .. } => window.saturating_add(window),
        };
        Ok(Self {
            notes: BoxedNotes::with_capacity(longest.max(memory), LARGEST, capacity)?,
            said: BoxedNotes::with_capacity(longest, MOST_SAID, capacity)?,
            fades: account.fades(),
            largest: largest.clamp(1, MOST),
            memory,
        })
    }

    /// Decides a request by what is known here, and spends credit if it passes.
    pub fn spend(&self, key: Key, cost: u32, now: Nanos) -> Known {
        match self.notes.read(key, now).map(Lease::of) {
            Some(Lease::Refused { cost: refused }) if refused == cost => {
                let retry_after = self.said.read(key, now).map_or(self.memory, |said| {
                    // A note's time is rounded down.
                    said.lasts.saturating_add(self.said.tick())
                });
                return Known::Refused { retry_after };
            }
            Some(Lease::Credit { left, .. }) if left >= cost => {}
            _ => return Known::Nothing,
        }
        let (rest, lasts) = (Cell::new(0), Cell::new(Nanos::ZERO));
        let spent = self.notes.update(key, now, |note| {
            let note = note?;
            let Lease::Credit { left, growth } = Lease::of(note) else { return None };
            let left = self.usable(left, note.lasts).checked_sub(cost)?;
            rest.set(left);
            lasts.set(note.lasts);
            Some(Note { number: Lease::Credit { left, growth }.number(), ..note })
        });
        if spent.is_none() {
            return Known::Nothing;
        }
        let said = self.said.read(key, now).unwrap_or(Note { lasts: Nanos::ZERO, number: 0 });
        let (remaining, ends) = (rest.get() + said.number, now.saturating_add(lasts.get()));
        Known::Admitted { remaining, resets_in: said.lasts, ends }
    }

    /// How much to ask for: twice as much as the last time if that is spent, and at first no more than the request.
    pub fn chunk(&self, key: Key, cost: u32, now: Nanos) -> u32 {
        let chunk = match self.notes.read(key, now).map(Lease::of) {
            Some(Lease::Credit { growth, .. }) => 2_u32.saturating_pow(growth + 1),
            _ => 1,
        };
        chunk.min(self.largest).max(cost)
    }

    /// Credit that the store has charged for this caller and that may be spent for a time from now; and what it said of
    /// the rest.
    pub fn deposit(&self, key: Key, granted: u32, credit: u32, lasts: Nanos, said: Note, now: Nanos) {
        let growth = granted.max(1).ilog2();
        self.notes.update(key, now, |note| {
            let (before, lasts) = match note.map(|note| (Lease::of(note), note.lasts)) {
                // What is left of another lease keeps its time for both: the shorter one.
                Some((Lease::Credit { left, .. }, until)) if left > 0 => {
                    (self.usable(left, until), until.min(lasts))
                }
                _ => (0, lasts),
            };
            let left = (before + credit).min(MOST);
            Some(Note { lasts, number: Lease::Credit { left, growth }.number() })
        });
        self.said.update(key, now, |_| Some(said));
    }

    /// A refusal by the store, unless there is credit for smaller requests.
    pub fn refuse(&self, key: Key, cost: u32, retry_after: Nanos, now: Nanos) {
        if cost > MOST {
            return;
        }
        let refused = self.notes.update(key, now, |note| {
            if matches!(note.map(Lease::of), Some(Lease::Credit { left, .. }) if left > 0) {
                return None;
            }
            Some(Note { lasts: retry_after.min(self.memory), number: Lease::Refused { cost }.number() })
        });
        if refused.is_some() {
            self.said.update(key, now, |_| Some(Note { lasts: retry_after, number: 0 }));
        }
    }

    /// Credit of a lease that is over at `ends`, spent on a request which is not to count; whether it can be spent again. It
    /// takes the place of a refusal. Once its lease is over it is none: the next window was not charged for it.
    pub fn give_back(&self, key: Key, cost: u32, ends: Nanos, now: Nanos) -> bool {
        let lasts = ends.saturating_sub(now);
        let back = self.usable(cost, lasts);
        if lasts == Nanos::ZERO || back == 0 {
            return false;
        }
        let given = self.notes.update(key, now, |note| {
            let (before, growth, lasts) = match note.map(|note| (Lease::of(note), note.lasts)) {
                Some((Lease::Credit { left, growth }, until)) if left > 0 => {
                    let before = self.usable(left, until);
                    let later = if until < lasts { back } else { before };
                    (
                        before,
                        growth,
                        until.max(lasts).min(until.min(lasts).saturating_add(self.fading(later))),
                    )
                }
                Some((Lease::Credit { growth, .. }, _)) => (0, growth, lasts),
                Some((Lease::Refused { .. }, _)) | None => (0, 0, lasts),
            };
            let left = (before + back).min(MOST);
            Some(Note { lasts, number: Lease::Credit { left, growth }.number() })
        });
        given.is_some()
    }

    /// When what is remembered of a caller is over, by the node's clock.
    pub fn ends(&self, key: Key, now: Nanos) -> Option<Nanos> {
        self.notes.read(key, now).map(|note| now.saturating_add(note.lasts))
    }

    /// How much credit there is.
    pub fn held(&self, key: Key, now: Nanos) -> u32 {
        match self.notes.read(key, now).map(|note| (Lease::of(note), note.lasts)) {
            Some((Lease::Credit { left, .. }, lasts)) => self.usable(left, lasts),
            _ => 0,
        }
    }

    /// Asks the store next time.
    pub fn forget_refusal(&self, key: Key, now: Nanos) {
        self.notes.update(key, now, |note| {
            let note = note?;
            let Lease::Refused { .. } = Lease::of(note) else { return None };
            Some(Note { number: 0, ..note })
        });
    }

    /// Clears what is long over.
    pub fn sweep(&self, now: Nanos) {
        self.notes.sweep(now);
        self.said.sweep(now);
    }

    /// How often to sweep, at least.
    pub fn sweep_interval(&self) -> Nanos {
        self.notes.sweep_interval()
    }

    /// In which time credit fades. Two credits together last as long as the shorter, and while the other one fades; both of
    /// a window are over with it.
    fn fading(&self, credit: u32) -> Nanos {
        Nanos(self.fades.map_or(0, |fades| fades.0.saturating_mul(credit.into())))
    }

    /// How much of some credit is not faded.
    fn usable(&self, left: u32, lasts: Nanos) -> u32 {
        match self.fades.and_then(|fades| lasts.0.checked_div(fades.0)) {
            Some(most) => u32::try_from(most).unwrap_or(u32::MAX).min(left),
            None => left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tollgate::Quota;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Each credit alone is as much as its own time has room for; together they are never more.
        #[test]
        fn credits_that_are_joined_fade_as_each_would(
            (held, until) in (1..50_u32, 1..200_u64),
            (back, ends) in (1..50_u32, 1..200_u64),
        ) {
            let account = Account::new(Quota::new(300, Nanos::from_secs(300)).burst(300)).unwrap();
            let leases = Leases::new(&account, 1_024, Nanos::from_secs(1), 16).unwrap();
            let (key, start) = (Key::from_fingerprint(0x1234_5678_9abc_def0), 1_000);
            let second = account.fades().unwrap();
            let at = |seconds: u64| Nanos(start * second.0 + seconds * second.0);
            let said = Note { lasts: second, number: 0 };
            leases.deposit(key, held, held, Nanos(second.0 * until), said, at(0));
            leases.give_back(key, back, at(ends), at(0));
            for now in 0..200 {
                let alone = |credit: u32, over: u64| over.saturating_sub(now).min(credit.into());
                let most = alone(held, until) + alone(back, ends);
                prop_assert!(u64::from(leases.held(key, at(now))) <= most, "at {now}");
            }
            // Little is lost of what there is at first: what a note's time is rounded down by.
            let first = until.min(held.into()) + ends.min(back.into());
            let joined = until.max(ends).min(until.min(ends) + u64::from(if until < ends { back } else { held }));
            prop_assert!(u64::from(leases.held(key, at(0))) + 3 >= first.min(joined));
        }
    }
}
