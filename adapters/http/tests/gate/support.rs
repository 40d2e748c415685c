//! A gate with a limit of five, and what is asked of it.

use std::net::IpAddr;

use tollgate_http::{Answer, Clock, Decision, Gate, GateBuilder, ManualClock, Quota};

pub(crate) const SECRET: &[u8] = b"the-edge-s-secret-of-32-bytes...";
pub(crate) const FORGED: &[u8] = b"a made-up token of the same size";
pub(crate) const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 7));

pub(crate) fn five() -> (GateBuilder, ManualClock) {
    let clock = ManualClock::new();
    let gate =
        Gate::builder(Quota::per_minute(5)).service("edge", SECRET).clock(Clock::Manual(clock.clone()));
    (gate, clock)
}

/// The fields of a request with these lines of the credential's.
pub(crate) fn lines<'r>(
    gate: &Gate,
    credential: impl IntoIterator<Item = &'r [u8]>,
) -> Vec<(String, &'r [u8])> {
    credential.into_iter().map(|line| (gate.credential_header().to_owned(), line)).collect()
}

pub(crate) fn decide<'r>(gate: &Gate, credential: impl IntoIterator<Item = &'r [u8]>) -> Decision {
    gate.decide(Some(PEER), &lines(gate, credential)[..]).unwrap()
}

/// How many of some requests with these credential lines pass.
pub(crate) fn passes<const N: usize>(gate: &Gate, credential: [&[u8]; N], requests: usize) -> usize {
    (0..requests).filter(|_| decide(gate, credential).passes()).count()
}

pub(crate) fn field<'a>(answer: &'a Answer, name: &str) -> &'a str {
    let mut found = answer.fields().filter(|field| field.name == name);
    let value = found.next().unwrap_or_else(|| panic!("{name} is missing")).value;
    assert!(found.next().is_none(), "{name} is there twice");
    value
}
