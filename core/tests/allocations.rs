//! No decision allocates: not a hit, not an insertion, not an overflow, not an exemption.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use allocation_counter::measure;
use tollgate::{
    BoxedLimiter, Credentials, Keyer, Limiter, Nanos, Origin, Origins, Overflow, Presented, Quota, Source,
};

fn allocations(work: impl FnOnce()) -> u64 {
    measure(work).count_total
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn no_decision_allocates() {
    static GATE: Limiter<8> = Limiter::new(Quota::per_minute(5));
    let keyer = Keyer::random();
    let decide = |limiter: &dyn Fn(tollgate::Key, Presented, Nanos)| {
        allocations(|| {
            let own = Credentials::<4>::new().with("edge", b"a secret of 24 bytes....").unwrap();
            for request in 0..10_000_u32 {
                let origin = Origin::peer((request % 700).to_be_bytes().into());
                let key = keyer.address(origin.network());
                let now = Nanos::from_millis(u64::from(request) * 20);
                for token in [None, Some(&b"forged"[..]), Some(b"a secret of 24 bytes....")] {
                    limiter(key, own.verify(token), now);
                }
            }
        })
    };
    assert_eq!(decide(&|key, presented, now| _ = std::hint::black_box(GATE.check(key, presented, now))), 0);
    for overflow in [Overflow::Inherit, Overflow::Forget, Overflow::Refuse, Overflow::Admit] {
        let boxed = BoxedLimiter::with_capacity(Quota::per_minute(5), 64).unwrap().with_overflow(overflow);
        let check = |key, presented, now| _ = std::hint::black_box(boxed.check(key, presented, now));
        assert_eq!(decide(&check), 0, "{overflow:?}");
        assert_eq!(allocations(|| assert!(boxed.sweep(Nanos::MAX) <= 64)), 0);
    }
}

#[test]
fn no_caller_is_found_by_allocating() {
    let lines = [&b"for=1.1.1.1, for=\"[2001:db8::1]:443\""[..], b"198.51.100.1, 10.0.0.2, , banana"];
    for source in [Source::XForwardedFor, Source::Forwarded, Source::Header] {
        let origins: Origins =
            Origins::from_source(source).trust_network("10.0.0.0/8".parse().unwrap()).build().unwrap();
        let peer = "10.0.0.1".parse().unwrap();
        let find = || {
            for lines in [&lines[..], &lines[..1], &lines[1..], &[]] {
                std::hint::black_box(origins.origin(peer, lines.iter().copied()));
            }
        };
        assert_eq!(allocations(find), 0, "{source:?}");
    }
}
