//! Limits the peers of a simulated radio link, with the time from `SysTick` and a table in a static.
//!
//! The link has 240 quiet peers and four that send as fast as they can. Each decision is compared with those of a slow
//! and obvious limiter. Then the loud peers send under a thousand made-up addresses, which must not win them a frame.

#![no_std]
#![no_main]

mod air;
mod clock;
mod oracle;

use cortex_m::Peripherals;
use cortex_m_rt::entry;
use cortex_m_semihosting::hprintln;
use tollgate::Nanos;

use crate::air::{Air, LOUD, QUIET, address};
use crate::clock::Clock;
use crate::oracle::{Answer, Oracle};

/// Frames in a second.
const LIMIT: u8 = 20;
const WINDOW: Nanos = Nanos::from_secs(1);
/// It ends in the middle of the windows that the loud peers began at once.
const DURATION: Nanos = Nanos::from_millis(2_500);
const MADE_UP: usize = 1_000;

#[cfg(not(feature = "unlimited"))]
mod gate {
    use tollgate::{Counts, FixedWindowLimiter, Keyer, Nanos, Presented, Quota, Verdict};

    use crate::oracle::Answer;
    use crate::{LIMIT, WINDOW};

    /// Room for 512 peers in 4 KiB: twice those that are expected.
    static GATE: FixedWindowLimiter<64> = FixedWindowLimiter::new(Quota::new(LIMIT as u32, WINDOW));

    /// A product takes the seed from its random number generator; this one is known to everybody.
    static KEYER: Keyer = Keyer::new(*b"a seed for demos");

    pub(crate) fn check(address: [u8; 6], now: Nanos) -> Answer {
        match GATE.check(KEYER.bytes(&address), Presented::Absent, now) {
            Verdict::Admitted(standing) => {
                Answer::Admitted { remaining: standing.remaining, resets_in: standing.resets_in }
            }
            Verdict::Refused(refusal) => Answer::Refused { retry_after: refusal.retry_after },
            Verdict::Exempt(_) => unreachable!("nobody presented a credential"),
        }
    }

    pub(crate) fn counts() -> Counts {
        if cfg!(feature = "deciding") { core::hint::black_box(Counts::default()) } else { GATE.counts() }
    }
}

/// Answers that the compiler knows nothing about.
#[cfg(feature = "unlimited")]
mod gate {
    use core::hint::black_box;

    use tollgate::{Counts, Nanos};

    use crate::oracle::Answer;

    pub(crate) fn check(address: [u8; 6], now: Nanos) -> Answer {
        black_box((address, Answer::Refused { retry_after: now })).1
    }

    pub(crate) fn counts() -> Counts {
        black_box(Counts::default())
    }
}

#[entry]
fn main() -> ! {
    let clock = Clock::start(Peripherals::take().expect("this is the first taker").SYST);
    let mut oracle = Oracle::new(LIMIT, WINDOW);
    listen(&clock, &mut oracle);
    spray(&clock, &oracle);
    hprintln!("link: {} bytes of the stack were used", firmware::stack_used());
    firmware::succeed()
}

/// Decides on frames for a while.
fn listen(clock: &Clock, oracle: &mut Oracle) {
    let (mut air, mut now) = (Air::new(), Nanos::ZERO);
    let (mut quiet, mut loud, mut refused) = (0_u32, 0_u32, 0_u32);
    while now < DURATION {
        let before = now;
        now = clock.now();
        assert!(now >= before, "the clock fell back from {before:?} to {now:?}");
        let peer = air.sender(now);
        let answer = gate::check(address(peer), now);
        assert_eq!(answer, oracle.check(peer, now), "peer {peer} at {now:?}");
        match answer {
            Answer::Admitted { .. } if peer < QUIET => quiet += 1,
            Answer::Admitted { .. } => loud += 1,
            Answer::Refused { .. } if peer < QUIET => panic!("a quiet peer was refused"),
            Answer::Refused { .. } => refused += 1,
        }
    }
    let counts = gate::counts();
    assert_eq!(counts.refused, u64::from(refused));
    assert_eq!((counts.inherited, counts.refused_by_overflow, counts.contended), (0, 0, 0));
    assert!(
        clock.rounds() >= 2,
        "the counter came round {} times, so its rounds went untested",
        clock.rounds()
    );
    assert!(refused > 1_000 && quiet >= 2_490, "{quiet} frames of quiet peers, {refused} refused");
    hprintln!(
        "link: {} frames of quiet peers passed, {} of loud ones, {} were refused",
        quiet,
        loud,
        refused
    );
}

/// Sends under made-up addresses, and sees that whoever is at its limit stays there.
fn spray(clock: &Clock, oracle: &Oracle) {
    let (mut refused, mut passed) = (0_u32, 0_u32);
    for made_up in 0..MADE_UP {
        match gate::check(address(QUIET + LOUD + made_up), clock.now()) {
            Answer::Admitted { .. } => passed += 1,
            Answer::Refused { .. } => {}
        }
        let (peer, now) = (QUIET + made_up % LOUD, clock.now());
        if let Some(retry_after) = oracle.waits(peer, now) {
            let answer = gate::check(address(peer), now);
            assert_eq!(answer, Answer::Refused { retry_after }, "peer {peer} at {now:?}");
            refused += 1;
        }
    }
    let counts = gate::counts();
    assert!(counts.inherited > 0 && refused > 100, "{counts:?}, {refused} frames of loud peers");
    hprintln!("link: {} of {} made-up addresses found a word", passed, MADE_UP);
    hprintln!("link: meanwhile all {} frames of the loud peers were refused", refused);
}
