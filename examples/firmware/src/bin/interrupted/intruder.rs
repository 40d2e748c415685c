//! What the interrupt does: it checks the caller that the main program is deciding on, and another one.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::stage::{SAME, STRANGER, Stage, admitted};

/// What the main program tells the interrupt, and what that found. The interrupt runs to its end while the main program
/// stands still, so these atomics are used as plain memory that both may name; a Cortex-M0 has loads and stores only.
struct Scene {
    /// Whether the main program is in the middle of a decision that was not interrupted yet.
    deciding: AtomicBool,
    gate: AtomicU32,
    round: AtomicU32,
    late: AtomicU32,
    progress: AtomicU32,
    same: AtomicU32,
    stranger: AtomicU32,
}

static SCENE: Scene = Scene {
    deciding: AtomicBool::new(false),
    gate: AtomicU32::new(0),
    round: AtomicU32::new(0),
    late: AtomicU32::new(0),
    progress: AtomicU32::new(0),
    same: AtomicU32::new(0),
    stranger: AtomicU32::new(0),
};

// ORDERING: one core, so the order of the program is the order of memory, for the interrupt too.
const SEEN: Ordering = Ordering::SeqCst;

/// What the interrupt found and did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// Whether the decision was interrupted.
    pub(crate) came: bool,
    /// How far the main program was: see [`Stage::progress`].
    pub(crate) progress: u32,
    /// How many requests of the same caller were admitted to the interrupt.
    pub(crate) same: u32,
    /// How many of another.
    pub(crate) stranger: u32,
}

/// Tells the interrupt that a decision begins.
pub(crate) fn begin(stage: &Stage) {
    SCENE.gate.store(stage.gate, SEEN);
    SCENE.round.store(stage.round, SEEN);
    SCENE.late.store(stage.late, SEEN);
    SCENE.progress.store(0, SEEN);
    SCENE.same.store(0, SEEN);
    SCENE.stranger.store(0, SEEN);
    SCENE.deciding.store(true, SEEN);
}

/// Tells the interrupt that the decision has ended.
pub(crate) fn end() -> Report {
    let came = !SCENE.deciding.load(SEEN);
    SCENE.deciding.store(false, SEEN);
    Report {
        came,
        progress: SCENE.progress.load(SEEN),
        same: SCENE.same.load(SEEN),
        stranger: SCENE.stranger.load(SEEN),
    }
}

/// The interrupt. It does nothing if it comes outside of a decision, or a second time.
pub(crate) fn intrude() {
    if !SCENE.deciding.load(SEEN) {
        return;
    }
    SCENE.deciding.store(false, SEEN);
    let stage =
        Stage { gate: SCENE.gate.load(SEEN), round: SCENE.round.load(SEEN), late: SCENE.late.load(SEEN) };
    SCENE.progress.store(stage.progress(), SEEN);
    let (gate, now) = (stage.limiter(), stage.late());
    SCENE.same.store(admitted(gate, SAME, now), SEEN);
    SCENE.stranger.store(admitted(gate, STRANGER, now), SEEN);
}
