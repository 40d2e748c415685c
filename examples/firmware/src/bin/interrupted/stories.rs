//! Decisions to interrupt, and what must come of them however they are interrupted.

use tollgate::{AllVerdict, Nanos, Presented, Verdict, check_all};

use crate::stage::{FIXED, GCRA, LIMIT, RIVAL, SAME, SLIDING, Stage, TICK, WINDOW, admitted, caller};

/// A decision to interrupt.
pub(crate) struct Story {
    pub(crate) name: &'static str,
    pub(crate) gates: &'static [u32],
    /// How much later than the main program the interrupt reads the clock.
    pub(crate) late: Nanos,
    /// Sets the stage; how many requests of `SAME` were admitted in what counts.
    pub(crate) prepare: fn(&Stage) -> u32,
    /// What is interrupted; how many requests of `SAME` it admitted.
    pub(crate) decide: fn(&Stage) -> u32,
    /// Whether the decision inserts the caller, so that the interrupt must meet its claim.
    pub(crate) inserts: bool,
    /// How many requests of `SAME`, and of `STRANGER`, pass in all.
    pub(crate) pass: (u32, u32),
}

pub(crate) const STORIES: [Story; 7] = [
    Story {
        name: "a fresh caller",
        gates: &[FIXED, GCRA, SLIDING],
        late: Nanos::ZERO,
        prepare: |_| 0,
        decide: check,
        inserts: true,
        pass: (LIMIT, LIMIT),
    },
    Story {
        name: "a caller with one request left",
        gates: &[FIXED, GCRA, SLIDING],
        late: Nanos::ZERO,
        prepare: use_all_but_one,
        decide: check,
        inserts: false,
        pass: (LIMIT, LIMIT),
    },
    Story {
        // The main program finds its caller's home slot taken, the interrupt finds it free: two claims in two slots.
        name: "a fresh caller whose home slot falls free",
        gates: &[FIXED],
        late: Nanos(2 * TICK.0),
        prepare: |stage| {
            let ends = stage.now().saturating_add(TICK);
            assert_eq!(admitted(stage.limiter(), RIVAL, ends.saturating_sub(WINDOW)), 1);
            0
        },
        decide: check,
        inserts: true,
        pass: (LIMIT, LIMIT),
    },
    Story {
        // Whoever comes takes over somebody's word with one request in it.
        name: "a fresh caller in a full table",
        gates: &[FIXED],
        late: Nanos::ZERO,
        prepare: |stage| {
            let filled: u32 =
                (0..16).map(|other| admitted(stage.limiter(), caller(100 + other, other), stage.now())).sum();
            assert_eq!((filled, stage.limiter().occupancy(stage.now()).restraining), (16, 16));
            0
        },
        decide: check,
        inserts: true,
        pass: (LIMIT - 1, LIMIT - 1),
    },
    Story {
        name: "a caller whose window has ended",
        gates: &[FIXED, GCRA],
        late: Nanos::ZERO,
        prepare: |stage| {
            let earlier = stage.now().saturating_sub(Nanos(2 * WINDOW.0));
            let used: u32 = (0..=LIMIT).map(|_| admitted(stage.limiter(), SAME, earlier)).sum();
            assert_eq!(used, LIMIT);
            0
        },
        decide: check,
        inserts: false,
        pass: (LIMIT, LIMIT),
    },
    Story {
        name: "a charge and its refund",
        gates: &[FIXED, GCRA, SLIDING],
        late: Nanos::ZERO,
        prepare: |stage| admitted(stage.limiter(), SAME, stage.now()),
        decide: |stage| {
            let Verdict::Admitted(standing) = stage.limiter().check(SAME, Presented::Absent, stage.now())
            else {
                panic!("the second of three requests was refused")
            };
            assert!(stage.limiter().refund(standing.receipt, stage.now()), "a charge of now was gone");
            1
        },
        inserts: false,
        pass: (LIMIT + 1, LIMIT),
    },
    Story {
        // The interrupt takes the last request of the second limit after the first has been charged.
        name: "two limits, all or nothing",
        gates: &[GCRA],
        late: Nanos::ZERO,
        prepare: use_all_but_one,
        decide: |stage| {
            let first = Stage { gate: FIXED, ..*stage }.limiter();
            let limits = [(first as _, SAME), (stage.limiter() as _, SAME)];
            let passes = match check_all(limits, Presented::Absent, stage.now(), 1) {
                AllVerdict::Admitted(_) => 1,
                _ => 0,
            };
            let standing = first.peek(SAME, stage.now());
            assert_eq!(standing.limit - standing.remaining, passes, "what was refused stayed charged");
            passes
        },
        inserts: false,
        pass: (LIMIT, LIMIT),
    },
];

fn check(stage: &Stage) -> u32 {
    admitted(stage.limiter(), SAME, stage.now())
}

fn use_all_but_one(stage: &Stage) -> u32 {
    (1..LIMIT).map(|_| admitted(stage.limiter(), SAME, stage.now())).sum()
}
