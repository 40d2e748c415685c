//! A program without std that takes every kind of decision. `ci/no-panic` links it and shows that nothing in it
//! can panic: the linker keeps what is reachable, and no panic is.

#![no_std]
#![no_main]

extern crate alloc;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::hint::black_box;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::panic::PanicInfo;

use tollgate::{
    AllVerdict, BoxedLimiter, Credentials, FixedInFlight, FixedPenalty, GlobalLimiter, Key, Keyer, Limiter,
    Nanos, Origin, Overflow, Quota, Verdict, check_all,
};

// The start of a program, and copying.
#[link(name = "c")]
unsafe extern "C" {}

static INHERIT: Limiter<2> = Limiter::new(Quota::per_minute(3));
static FORGET: Limiter<2> = Limiter::new(Quota::per_second(3)).with_overflow(Overflow::Forget);
static REFUSE: Limiter<2> = Limiter::new(Quota::per_hour(1_000)).with_overflow(Overflow::Refuse);
static ADMIT: Limiter<64> = Limiter::new(Quota::new(2, Nanos(5000))).with_overflow(Overflow::Admit);

static GCRA: Limiter<4> = Limiter::new(Quota::per_second(10).burst(2));
static SLIDING: Limiter<4> = Limiter::new(Quota::per_second(10).sliding());
static UNDER_WAY: FixedInFlight<4> = FixedInFlight::new(2);
static PENALTY: FixedPenalty<4> = FixedPenalty::new(3, Nanos::from_secs(60), Nanos::from_secs(600));
static EVERYBODY: GlobalLimiter = GlobalLimiter::new(Quota::per_second(100).burst(20));

/// Hands out one block of memory once: that of the table whose capacity is chosen at run time.
struct Once(UnsafeCell<[u8; 8192]>);

// SAFETY: there is one thread.
unsafe impl Sync for Once {}

// SAFETY: a block is handed out if it is large enough, and is used once, since the program asks once.
unsafe impl GlobalAlloc for Once {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = self.0.get().cast::<u8>();
        let skip = start.align_offset(layout.align());
        if skip.saturating_add(layout.size()) <= 8192 {
            start.wrapping_add(skip)
        } else {
            core::ptr::null_mut()
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static MEMORY: Once = Once(UnsafeCell::new([0; 8192]));

/// Whether all policies refuse and exempt as they should; the arguments are beyond the compiler's knowledge.
#[unsafe(no_mangle)]
pub extern "C" fn main(arguments: i32, _: *const *const u8) -> i32 {
    let seed = black_box([arguments as u8; 16]);
    let keyer = Keyer::new(seed);
    let secret = black_box(*b"a secret of 24 bytes....");
    let mut own = Credentials::<2>::new();
    if own.add("edge", &secret).is_err() {
        return 1;
    }
    // A quota that is known at run time only.
    let Ok(configured) = Limiter::<4>::try_new(Quota::per_second(black_box(3))) else { return 2 };
    let Ok(boxed) = BoxedLimiter::with_capacity(Quota::per_minute(black_box(5)), black_box(100)) else {
        return 4;
    };
    let (mut refused, mut exempt) = (0_u32, 0_u32);
    for request in 0..black_box(2_000_u32) {
        let v4 = IpAddr::V4(Ipv4Addr::from_bits(request % 50));
        let v6 = IpAddr::V6(Ipv6Addr::from_bits(u128::from(request) << 60));
        let keys = [
            keyer.address(Origin::peer(v4).network()),
            keyer.address(Origin::peer(v6).network()),
            keyer.bytes(&request.to_le_bytes()),
            keyer.parts(&[b"tenant", &request.to_le_bytes()]),
            Key::from_fingerprint(u64::from(request)),
        ];
        let guess = &secret[..black_box(request as usize) % (secret.len() + 1)];
        let now = Nanos(black_box(u64::from(request)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for key in keys {
            for presented in [own.verify(None), own.verify(Some(guess))] {
                let verdicts = [
                    INHERIT.check(key, presented, now),
                    FORGET.check(key, presented, now),
                    REFUSE.check(key, presented, now),
                    ADMIT.check(key, presented, now),
                    configured.check(key, presented, now),
                    boxed.check_n(key, presented, now, black_box(request % 7)),
                    GCRA.check_n(key, presented, now, black_box(request % 3)),
                    SLIDING.check_n(key, presented, now, black_box(request % 3)),
                    boxed.check_with_penalty(&PENALTY, key, presented, now),
                    UNDER_WAY.enter(key, presented, now),
                ];
                let limits = [(&boxed as _, key), (&GCRA as _, key), (&EVERYBODY as _, key)];
                match check_all(limits, presented, now, black_box(request % 3)) {
                    AllVerdict::Admitted(standings) => _ = black_box(standings.len()),
                    AllVerdict::Refused { by, .. } => _ = black_box(by),
                    AllVerdict::Exempt(_) => {}
                }
                for verdict in verdicts {
                    match verdict {
                        Verdict::Exempt(service) => exempt += u32::from(own.name(service) == "edge"),
                        Verdict::Admitted(standing) => {
                            let receipt = black_box(standing).receipt;
                            black_box((boxed.refund(receipt, now), GCRA.refund(receipt, now)));
                            black_box((SLIDING.refund(receipt, now), UNDER_WAY.release(receipt)));
                        }
                        Verdict::Refused(refusal) => {
                            refused += u32::from(refusal.retry_after.whole_secs_up() > 0)
                        }
                    }
                }
            }
        }
        if request % 100 == 0 {
            black_box([INHERIT.sweep(now), FORGET.sweep(now), REFUSE.sweep(now), ADMIT.sweep(now)]);
            black_box([boxed.sweep(now), GCRA.sweep(now), SLIDING.sweep(now), PENALTY.sweep(now)]);
            black_box((boxed.peek(keys[0], now), GCRA.clear(keys[0], now), boxed.occupancy(now)));
            black_box(boxed.set_quota(Quota::per_minute(4 + request % 4)).is_ok());
            black_box((INHERIT.counts(), FORGET.capacity(), configured.enforced_window()));
        }
    }
    assert!(!cfg!(feature = "flawed") || refused > 0, "a panic that can be reached");
    if refused > 0 && exempt == 2_000 / 25 * 5 * 10 { 0 } else { 3 }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
