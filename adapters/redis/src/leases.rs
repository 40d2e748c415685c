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
        let rest = Cell::new(0);
        let spent = self.notes.update(key, now, |note| {
            let note = note?;
            let Lease::Credit { left, growth } = Lease::of(note) else { return None };
            let left = self.usable(left, note.lasts).checked_sub(cost)?;
            rest.set(left);
            Some(Note { number: Lease::Credit { left, growth }.number(), ..note })
        });
        if spent.is_none() {
            return Known::Nothing;
        }
        let said = self.said.read(key, now).unwrap_or(Note { lasts: Nanos::ZERO, number: 0 });
        Known::Admitted { remaining: rest.get() + said.number, resets_in: said.lasts }
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

    /// Credit that was spent on a request which is not to count; whether it can be spent again.
    pub fn give_back(&self, key: Key, cost: u32, now: Nanos) -> bool {
        let given = self.notes.update(key, now, |note| {
            let note = note?;
            let Lease::Credit { left, growth } = Lease::of(note) else { return None };
            Some(Note { number: Lease::Credit { left: left + cost, growth }.number(), ..note })
        });
        given.is_some()
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

    /// How much of some credit is not faded.
    fn usable(&self, left: u32, lasts: Nanos) -> u32 {
        match self.fades.and_then(|fades| lasts.0.checked_div(fades.0)) {
            Some(most) => u32::try_from(most).unwrap_or(u32::MAX).min(left),
            None => left,
        }
    }
}
