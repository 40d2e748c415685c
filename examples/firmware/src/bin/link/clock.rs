//! A clock of 64 bits from a counter of 24.

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{SCB, SYST};
use cortex_m_rt::exception;
use tollgate::Nanos;

/// Nanoseconds since the start, counted in cycles of the core by `SysTick` and in its rounds by its interrupt.
#[derive(Debug)]
pub(crate) struct Clock(());

/// How often the counter has come round. Only the interrupt writes it.
static ROUNDS: AtomicU32 = AtomicU32::new(0);

/// Cycles of a round.
const ROUND: u32 = 1 << 24;

/// A cycle's nanoseconds, times a power of two: 62.5 at 16 MHz, 40 at 25 MHz.
const CYCLE: (u64, u32) = if cfg!(board = "microbit") { (125, 1) } else { (40, 0) };

impl Clock {
    /// Starts the counter.
    pub(crate) fn start(mut counter: SYST) -> Self {
        counter.set_clock_source(SystClkSource::Core);
        counter.set_reload(ROUND - 1);
        counter.clear_current();
        counter.enable_interrupt();
        counter.enable_counter();
        Self(())
    }

    /// The time. Interrupt handlers may ask too.
    #[expect(clippy::unused_self, reason = "proof that the counter runs")]
    pub(crate) fn now(&self) -> Nanos {
        // ORDERING: one core; an interrupt is seen whole or not at all. What matters is the program's order, and the
        // counter's registers are volatile.
        let (rounds, into_round) = loop {
            let before = ROUNDS.load(Ordering::SeqCst);
            // The counter runs down to 0, and 0 is the first cycle of the next round.
            let into_round = (ROUND - SYST::get_current()) % ROUND;
            // With interrupts off, or in a handler, the round that has just begun is not counted yet.
            let uncounted = SCB::is_pendst_pending() && into_round < ROUND / 2;
            if ROUNDS.load(Ordering::SeqCst) == before {
                break (u64::from(before) + u64::from(uncounted), into_round);
            }
        };
        let cycles = rounds * u64::from(ROUND) + u64::from(into_round);
        Nanos((cycles * CYCLE.0) >> CYCLE.1)
    }

    /// How often the counter has come round.
    #[expect(clippy::unused_self, reason = "proof that the counter runs")]
    pub(crate) fn rounds(&self) -> u32 {
        ROUNDS.load(Ordering::SeqCst)
    }
}

#[exception]
fn SysTick() {
    // ORDERING: as above. A load and a store, since a Cortex-M0 has no more and nobody else writes.
    ROUNDS.store(ROUNDS.load(Ordering::SeqCst).wrapping_add(1), Ordering::SeqCst);
}
