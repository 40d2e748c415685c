//! What the programs of this example share: how they end, and how much of the stack they have used.

#![no_std]

use cortex_m_semihosting::debug::{EXIT_SUCCESS, exit};
use panic_semihosting as _;

/// Ends the emulation; its exit status says that all went well. (After a panic it says the opposite.)
pub fn succeed() -> ! {
    exit(EXIT_SUCCESS);
    loop {
        cortex_m::asm::wfi();
    }
}

/// Bytes of the stack that have ever been used: what is no longer as the start-up code painted it.
#[expect(unsafe_code, reason = "the stack's bounds are symbols of the linker")]
pub fn stack_used() -> usize {
    unsafe extern "C" {
        static _stack_end: u32;
        static _stack_start: u32;
    }
    let (lowest, above) = (&raw const _stack_end, &raw const _stack_start);
    let words = (above.addr() - lowest.addr()) / size_of::<u32>();
    // SAFETY: these words are memory of this program's, aligned, and initialised by the paint. Nothing but the stack
    // lives there, and the part that is read before an unpainted word is found is in use by nobody.
    let painted = (0..words)
        .take_while(|&word| unsafe { lowest.add(word).read_volatile() } == cortex_m_rt::STACK_PAINT_VALUE);
    (words - painted.count()) * size_of::<u32>()
}
