//! The three tests of the incident, at the level of the core, and abuse 12 and 35.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use tollgate::{Credentials, Keyer, Limiter, Nanos, Presented, Quota, Verdict};

const TOKEN: &[u8] = b"the internal token that all carry";
const KEYER: Keyer = Keyer::new(*b"a seed for tests");
const NOW: Nanos = Nanos::from_secs(1000);

fn own() -> Credentials<2> {
    Credentials::new().with("edge", TOKEN).unwrap()
}

/// One request from one address.
fn request(gate: &Limiter<8>, token: Option<&[u8]>, now: Nanos) -> Verdict {
    gate.check(KEYER.address([203, 0, 113, 7].into()), own().verify(token), now)
}

#[test]
fn twenty_requests_with_the_internal_token_against_a_limit_of_five_all_pass() {
    static GATE: Limiter<8> = Limiter::new(Quota::per_minute(5));
    for _ in 0..20 {
        let Verdict::Exempt(service) = request(&GATE, Some(TOKEN), NOW) else { panic!("counted") };
        assert_eq!(own().name(service), "edge");
    }
    // And they consumed nothing of the address' budget.
    assert_eq!((0..20).filter(|_| request(&GATE, None, NOW).passes()).count(), 5);
}

#[test]
fn plain_requests_from_one_address_pass_five_times_and_are_then_refused() {
    static GATE: Limiter<8> = Limiter::new(Quota::per_minute(5));
    let verdicts: Vec<_> = (0..20).map(|_| request(&GATE, None, NOW)).collect();
    assert!(verdicts[..5].iter().all(|verdict| matches!(verdict, Verdict::Admitted(_))), "{verdicts:?}");
    assert!(verdicts[5..].iter().all(|verdict| matches!(verdict, Verdict::Refused(_))), "{verdicts:?}");
    let after = NOW.saturating_add(Nanos::from_secs(60));
    assert_eq!((0..20).filter(|_| request(&GATE, None, after).passes()).count(), 5);
}

#[test]
fn requests_with_a_forged_token_are_refused_the_same_way() {
    static GATE: Limiter<8> = Limiter::new(Quota::per_minute(5));
    // Each forgery is another one, and all are the address' own requests.
    let forged = |n: u8| [b"the internal token that all carr", &[n][..]].concat();
    let verdicts: Vec<_> = (0..20).map(|n| request(&GATE, Some(&forged(n)), NOW)).collect();
    assert!(verdicts[..5].iter().all(|verdict| matches!(verdict, Verdict::Admitted(_))), "{verdicts:?}");
    assert!(verdicts[5..].iter().all(|verdict| matches!(verdict, Verdict::Refused(_))), "{verdicts:?}");
    assert!(!request(&GATE, None, NOW).passes(), "the forger and the plain caller are one");
    assert_eq!(own().verify(Some(&forged(0))), Presented::Forged);
}
