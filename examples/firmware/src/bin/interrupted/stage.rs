//! The limiters, the callers and the times of one interrupted decision.

use tollgate::{Key, Limiter, Nanos, Presented, Quota};

pub(crate) type Gate = Limiter<2>;

pub(crate) const LIMIT: u32 = 3;
/// A power of two, so that no quota rounds it.
pub(crate) const WINDOW: Nanos = Nanos(1 << 20);
/// Of the fixed window.
pub(crate) const TICK: Nanos = Nanos(WINDOW.0 / 2048);

pub(crate) const FIXED: u32 = 0;
pub(crate) const GCRA: u32 = 1;
pub(crate) const SLIDING: u32 = 2;

/// Sixteen slots each, all of which are candidates of everybody.
static GATES: [Gate; 3] = [
    Limiter::new(Quota::new(LIMIT, WINDOW)),
    Limiter::new(Quota::new(LIMIT, WINDOW).burst(LIMIT)),
    Limiter::new(Quota::new(LIMIT, WINDOW).sliding()),
];

pub(crate) const NAMES: [&str; 3] = ["fixed window", "GCRA", "sliding window"];

/// The caller that is interrupted.
pub(crate) const SAME: Key = caller(1, 0);
/// Another, whose home slot is the same.
pub(crate) const RIVAL: Key = caller(2, 0);
/// Another, whose home slot is not.
pub(crate) const STRANGER: Key = caller(3, 5);

/// A caller with a tag and a home slot in the first line. A fingerprint's upper bits are the tag, its lower ones tell
/// the slot; if that changes, the claims that `main` counts are no longer met, and it says so.
pub(crate) const fn caller(tag: u64, home: u64) -> Key {
    Key::from_fingerprint(tag << 37 | home)
}

/// How many of one request are admitted: one or none.
pub(crate) fn admitted(gate: &Gate, key: Key, now: Nanos) -> u32 {
    u32::from(gate.check(key, Presented::Absent, now).passes())
}

/// One decision's place and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    pub(crate) gate: u32,
    /// Rounds are many windows apart.
    pub(crate) round: u32,
    /// How much later than the main program the interrupt reads the clock, in nanoseconds.
    pub(crate) late: u32,
}

impl Stage {
    pub(crate) fn limiter(&self) -> &'static Gate {
        &GATES[self.gate as usize]
    }

    /// The time of the decision.
    pub(crate) fn now(&self) -> Nanos {
        Nanos((u64::from(self.round) + 1) * 8 * WINDOW.0)
    }

    /// The time of the interrupt.
    pub(crate) fn late(&self) -> Nanos {
        self.now().saturating_add(Nanos(u64::from(self.late)))
    }

    /// Empties the tables.
    pub(crate) fn clean(&self) {
        for gate in &GATES {
            gate.sweep(self.now());
            let occupancy = gate.occupancy(self.now());
            assert_eq!((occupancy.restraining, occupancy.idle), (0, 0), "the sweep left something");
        }
    }

    /// How far an insertion of `SAME` is: the slots that restrain somebody, the words that were taken over, and what it
    /// has used. A claim, whichever slot it takes, adds one (a new slot, or a word with its count), and the charge more.
    pub(crate) fn progress(&self) -> u32 {
        let standing = self.limiter().peek(SAME, self.late());
        let restraining = self.limiter().occupancy(self.late()).restraining as u64;
        let words = restraining + self.limiter().counts().inherited;
        standing.limit - standing.remaining + u32::try_from(words).unwrap_or(u32::MAX)
    }
}
