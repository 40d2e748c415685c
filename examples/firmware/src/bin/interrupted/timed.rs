//! Interrupts after the n-th cycle, with `SysTick`: where 64-bit atomics can't be counted. Under QEMU with `-icount` an
//! instruction takes a fixed time, so that counting n up meets every gap between two instructions, and so every gap
//! between two atomic operations.

use cortex_m::asm;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{SCB, SYST};
use cortex_m_rt::exception;

/// How steps are told in the report.
pub(crate) const STEP: &str = "cycle";

/// Steps without an interruption after which there is no more to come: an instruction may take several cycles.
pub(crate) const QUIET_STEPS: u32 = 8;

/// Pends the interrupt.
pub(crate) struct Trigger(SYST);

impl Trigger {
    pub(crate) fn new(mut timer: SYST) -> Self {
        timer.set_clock_source(SystClkSource::Core);
        timer.enable_interrupt();
        Self(timer)
    }

    /// Interrupts after `steps` cycles from now.
    pub(crate) fn arm(&mut self, steps: u32) {
        self.0.set_reload(steps);
        self.0.clear_current();
        self.0.enable_counter();
    }

    /// Interrupts no more.
    pub(crate) fn disarm(&mut self) {
        self.0.disable_counter();
        SCB::clear_pendst();
        // An interrupt that was taken meanwhile has ended before the next instruction.
        asm::isb();
    }
}

#[exception]
fn SysTick() {
    // Once: with a round shorter than this handler the main program would never go on.
    stop();
    crate::intruder::intrude();
}

#[expect(unsafe_code, reason = "the handler stops the timer that the main program owns")]
fn stop() {
    // SAFETY: SysTick's own register, which the main program does not touch while it stands still; what it does
    // around an interrupt, to stop the timer, comes to the same.
    unsafe { (*SYST::PTR).csr.write(STOPPED) };
}

/// The interrupt on and the core's clock chosen, as in `Trigger::new`, but not counting.
const STOPPED: u32 = 0b110;
