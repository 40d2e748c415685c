//! The incident's callers on the list of who is throttled, before the limiter knew a secret.

#![cfg(not(tollgate_loom))]
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

use std::collections::BTreeMap;

use tollgate::{
    Clue, Credentials, Finding, Keyer, Limiter, Nanos, Origin, Presented, Quota, Sighting, Watch,
};

const KEYER: Keyer = Keyer::new(*b"a seed for tests");
const QUIET: Nanos = Nanos::from_secs(60);
const NOW: Nanos = Nanos::from_secs(100_000);

/// A request as an adapter sees it.
#[derive(Clone, Default)]
struct Request {
    path: &'static str,
    token: Option<String>,
    agent: &'static str,
}

/// Lets a caller make its requests at one moment.
fn call(gate: &Limiter<64>, watch: &Watch<8>, address: &str, requests: impl Iterator<Item = Request>) {
    // The limiter knows no secret, as before the incident was understood.
    let own = Credentials::<0>::new();
    let origin = Origin::peer(address.parse().unwrap());
    let key = KEYER.address(origin.network());
    for request in requests {
        let presented = own.verify(request.token.as_deref().map(str::as_bytes));
        let verdict = gate.check(key, presented, NOW);
        let Some(mut sighting) = Sighting::of(&verdict, key, NOW) else { continue };
        sighting = sighting.origin(origin);
        if !request.agent.is_empty() {
            sighting = sighting.hint(KEYER.bytes(request.agent.as_bytes()));
        }
        if let (Presented::Forged, Some(token)) = (presented, &request.token) {
            sighting = sighting.forged(KEYER.bytes(token.as_bytes()));
        }
        if request.path.starts_with("/internal/") {
            sighting = sighting.internal();
        }
        _ = watch.record(&sighting);
    }
}

// The incident's cast: who is ours is told from who is not, each for the reason stated.
#[test]
fn the_incident_s_callers_come_out_as_what_they_are() {
    static GATE: Limiter<64> = Limiter::new(Quota::per_minute(300));
    static WATCH: Watch<8> = Watch::new(QUIET);
    const AGENTS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let calls = |address: &str, count: usize, request: &dyn Fn(usize) -> Request| {
        call(&GATE, &WATCH, address, (0..count).map(request));
    };
    let token = || Some("the internal token".to_owned());
    for edge in ["10.0.0.1", "10.0.0.2", "10.0.0.3"] {
        calls(edge, 480, &|_| Request { path: "/internal/domains/x", token: token(), agent: "edge" });
    }
    calls("10.0.1.1", 480, &|_| Request { path: "/internal/turns/x", token: token(), agent: "orchestrator" });
    // A service that never got its secret.
    calls("10.0.2.1", 480, &|_| Request { path: "/internal/turns/x", token: None, agent: "worker" });
    calls("198.51.100.1", 3_000, &|_| Request { path: "/", token: None, agent: "scraper" });
    calls("198.51.100.2", 600, &|number| Request {
        path: if number % 2 == 0 { "/" } else { "/internal/domains/x" },
        token: Some(format!("made-up token, number {number}")),
        agent: "forger",
    });
    calls("203.0.113.1", 480, &|number| Request {
        path: "/",
        token: None,
        agent: AGENTS[number % AGENTS.len()],
    });
    for person in 1..=50 {
        calls(&format!("192.0.2.{person}"), 20, &|_| Request { path: "/", ..Request::default() });
    }

    let found: BTreeMap<_, _> =
        WATCH.snapshot(NOW).map(|seen| (seen.origin.unwrap().address().to_string(), seen)).collect();
    let secret = Finding::OwnService(Clue::SecretFails);
    for (address, refused, finding) in [
        ("10.0.0.1", 180, secret),
        ("10.0.0.2", 180, secret),
        ("10.0.0.3", 180, secret),
        ("10.0.1.1", 180, secret),
        ("10.0.2.1", 180, Finding::OwnService(Clue::InternalRoutes)),
        ("198.51.100.1", 2_700, Finding::OneCaller),
        ("198.51.100.2", 300, Finding::Forging),
        ("203.0.113.1", 180, Finding::SharedAddress),
    ] {
        let seen = found[address];
        assert_eq!((seen.refused, seen.missed, seen.finding()), (refused, 0, finding), "{address}: {seen:?}");
        // From the 240th request on: 61 admissions, the limit's last among them.
        assert_eq!(seen.sightings, refused + 61);
    }
    assert_eq!(found.len(), 8, "a person who makes 20 requests is not listed");
    assert_eq!(found["10.0.0.1"].finding().to_string(), "looks like your own service");
}
