//! Interrupts after the n-th atomic operation: `portable-atomic` takes a critical section for each, and this one counts.

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::peripheral::{SCB, SYST};
use cortex_m::register::primask;
use cortex_m::{asm, interrupt};
use cortex_m_rt::exception;
use critical_section::{Impl, RawRestoreState, set_impl};

/// How steps are told in the report.
pub(crate) const STEP: &str = "atomic operation";

/// Steps without an interruption after which there is no more to come: an operation is one step.
pub(crate) const QUIET_STEPS: u32 = 1;

/// Operations until the interrupt; 0 for none.
///
/// ORDERING: one core, and an interrupt is seen whole or not at all; this goes for all atomics of this program.
static LEFT: AtomicU32 = AtomicU32::new(0);

/// Pends the interrupt.
pub(crate) struct Trigger(());

impl Trigger {
    pub(crate) const fn new(_: SYST) -> Self {
        Self(())
    }

    /// Interrupts after `steps` atomic operations from now.
    #[expect(clippy::unused_self, reason = "another trigger is a timer")]
    pub(crate) fn arm(&mut self, steps: u32) {
        LEFT.store(steps, Ordering::SeqCst);
    }

    /// Interrupts no more.
    #[expect(clippy::unused_self, reason = "another trigger is a timer")]
    pub(crate) fn disarm(&mut self) {
        LEFT.store(0, Ordering::SeqCst);
    }
}

#[exception]
fn PendSV() {
    crate::intruder::intrude();
}

struct Counted;
set_impl!(Counted);

#[expect(unsafe_code, reason = "whoever gives interrupts back must have taken them")]
// SAFETY: one core, and interrupts are off from `acquire` to the outermost `release`.
unsafe impl Impl for Counted {
    unsafe fn acquire() -> RawRestoreState {
        let were_on = primask::read().is_active();
        interrupt::disable();
        were_on
    }

    unsafe fn release(were_on: RawRestoreState) {
        match LEFT.load(Ordering::SeqCst) {
            0 => {}
            left => {
                LEFT.store(left - 1, Ordering::SeqCst);
                if left == 1 {
                    SCB::set_pendsv();
                }
            }
        }
        if were_on {
            // SAFETY: they were on before.
            unsafe { interrupt::enable() };
            // A pending interrupt is taken here, not some instructions later.
            asm::isb();
        }
    }
}
