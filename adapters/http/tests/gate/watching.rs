//! Who is throttled: in the report, and in the log.

use std::sync::Arc;
use std::time::Duration;

use tollgate_http::{
    Addresses, Clock, Clue, Finding, Gate, ManualClock, Mode, Policy, Quota, RequestFields, Source, Throttled,
};

use crate::log::Log;
use crate::support::SECRET;

/// A request's fields and its path.
struct Request<'r> {
    path: &'r str,
    fields: Vec<(&'r str, String)>,
}

impl RequestFields for Request<'_> {
    fn lines<'r>(&'r self, name: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        self.fields.iter().filter(move |(given, _)| *given == name).map(|(_, value)| value.as_bytes())
    }

    fn path(&self) -> Option<&str> {
        Some(self.path)
    }
}

fn ask(gate: &Gate, peer: &str, path: &str, fields: &[(&'static str, &str)]) -> bool {
    let fields = fields.iter().map(|&(name, value)| (name, value.to_owned())).collect();
    gate.decide(peer.parse().ok(), &Request { path, fields }).unwrap().passes()
}

fn limited(limit: u32) -> (tollgate_http::GateBuilder, ManualClock) {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(1_000));
    let gate = Gate::builder(Quota::per_minute(limit)).clock(Clock::Manual(clock.clone()));
    (gate.addresses(Addresses::Shown), clock)
}

fn seen<'r>(callers: &'r [Throttled], address: &str) -> &'r Throttled {
    callers
        .iter()
        .find(|caller| caller.address == address)
        .unwrap_or_else(|| panic!("{address} is not listed"))
}

// The incident before the cure: the limiter knows addresses alone, and no secret.
#[test]
fn the_report_tells_our_own_from_the_scraper_and_the_forger() {
    let (gate, _) = limited(300);
    let gate = gate.internal_route("/internal/").build().unwrap();
    let token = [("x-internal-token", "the one that all of our own services present")];
    for request in 0..480 {
        ask(&gate, "10.0.0.1", "/internal/domains/app-7.example", &token);
        ask(&gate, "10.0.0.2", &format!("/internal/turns/{request}"), &token);
        ask(&gate, "198.51.100.7", "/", &[("user-agent", "scrape/1.0")]);
        let made_up = format!("made-up token {request}");
        ask(&gate, "198.51.100.9", "/internal/turns/1", &[("x-internal-token", &made_up)]);
        ask(
            &gate,
            "192.0.2.1",
            "/",
            &[("user-agent", &format!("a browser in the office, number {}", request % 40))],
        );
        // Somebody who keeps to the limit.
        if request < 100 {
            ask(&gate, "192.0.2.99", "/", &[]);
        }
    }
    let report = gate.throttled();
    assert_eq!(report.callers.len(), 5, "{report:#?}");
    for (address, finding) in [
        ("10.0.0.1", Finding::OwnService(Clue::SecretFails)),
        ("10.0.0.2", Finding::OwnService(Clue::SecretFails)),
        ("198.51.100.7", Finding::OneCaller),
        ("198.51.100.9", Finding::Forging),
        ("192.0.2.1", Finding::SharedAddress),
    ] {
        let caller = seen(&report.callers, address);
        assert_eq!(caller.finding, finding, "{caller:?}");
        assert_eq!(caller.refused, 180);
    }
    assert!((30..=52).contains(&seen(&report.callers, "192.0.2.1").callers));
}

#[test]
fn who_is_near_the_limit_is_listed_before_being_refused() {
    let (gate, _) = limited(10);
    let gate = gate.build().unwrap();
    for _ in 0..7 {
        assert!(ask(&gate, "203.0.113.7", "/", &[]));
    }
    assert_eq!(gate.throttled().callers, []);
    assert!(ask(&gate, "203.0.113.7", "/", &[]));
    let [near] = &gate.throttled().callers[..] else { panic!("one is near its limit") };
    assert_eq!((near.refused, near.sightings, &*near.address), (0, 1, "203.0.113.7"));
    for _ in 0..3 {
        ask(&gate, "203.0.113.7", "/", &[]);
    }
    let [refused] = &gate.throttled().callers[..] else { panic!("it is still one") };
    assert_eq!((refused.refused, refused.sightings), (1, 4));
}

// What others have used up says nothing of a caller; its refusal is a refusal all the same.
#[test]
fn a_limit_of_everybody_s_makes_nobody_near_its_own() {
    let (gate, _) = limited(1_000);
    let gate = gate.policy(Policy::new("all", Quota::per_minute(10)).for_everyone()).build().unwrap();
    for caller in 0..9 {
        assert!(ask(&gate, &format!("203.0.113.{caller}"), "/", &[]));
    }
    assert_eq!(gate.throttled().callers, []);
    ask(&gate, "203.0.113.100", "/", &[]);
    ask(&gate, "203.0.113.101", "/", &[]);
    let [refused] = &gate.throttled().callers[..] else { panic!("one was refused") };
    assert_eq!((refused.refused, &*refused.address), (1, "203.0.113.101"));
}

#[test]
fn shadow_mode_lists_whom_the_limit_would_hit() {
    let (gate, _) = limited(5);
    let gate = gate.mode(Mode::Shadow).build().unwrap();
    assert!((0..20).all(|_| ask(&gate, "203.0.113.7", "/", &[])));
    let report = gate.throttled();
    assert_eq!((report.mode, report.callers[0].refused), (Mode::Shadow, 15));
}

#[test]
fn without_a_watch_nothing_is_kept() {
    let (gate, _) = limited(1);
    let gate = gate.without_watch().build().unwrap();
    assert!((0..20).filter(|_| ask(&gate, "203.0.113.7", "/", &[])).count() == 1);
    assert_eq!((gate.throttled().callers.len(), gate.throttled().capacity), (0, 0));
}

#[test]
fn the_log_has_one_event_at_the_first_refusal_and_one_at_the_recovery() {
    let log = Log::begin();
    let (gate, clock) = limited(5);
    let gate = gate.addresses(Addresses::Truncated).build().unwrap();
    for _ in 0..100 {
        ask(&gate, "203.0.113.7", "/", &[("user-agent", "some \u{1b}[31m agent\nand a line")]);
    }
    let events = log.take();
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].contains("a caller is refused from now on") && events[0].contains("203.0.113.0/24"));
    // In later windows below 80 % nothing is looked at; the next look at the report notices.
    clock.advance(Duration::from_secs(200));
    ask(&gate, "203.0.113.7", "/", &[]);
    assert_eq!(log.take(), [""; 0]);
    assert_eq!(gate.throttled().callers, []);
    let events = log.take();
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].contains("no longer refused") && events[0].contains("203.0.113.0/24"));
    // So does the next admission near the limit.
    for _ in 0..100 {
        ask(&gate, "203.0.113.7", "/", &[]);
    }
    assert_eq!(log.take().len(), 1);
    clock.advance(Duration::from_secs(200));
    for _ in 0..5 {
        ask(&gate, "203.0.113.7", "/", &[]);
    }
    let events = log.take();
    assert!(events.len() == 1 && events[0].contains("no longer refused"), "{events:?}");
}

#[test]
fn an_own_service_that_is_refused_is_warned_of_once_a_minute() {
    let log = Log::begin();
    let (gate, clock) = limited(5);
    let gate = gate.service("edge", SECRET).build().unwrap();
    let old = [("x-internal-token", "the secret before it was rotated")];
    let warnings =
        |log: &Log| log.take().into_iter().filter(|line| line.contains("WARN")).collect::<Vec<_>>();
    for _ in 0..90 {
        for _ in 0..20 {
            ask(&gate, "10.0.0.1", "/", &old);
        }
        clock.advance(Duration::from_secs(1));
    }
    let told = warnings(&log);
    assert_eq!(told.len(), 2, "{told:?}");
    for part in
        ["10.0.0.1", "looks like a service of your own", "rotated or mistyped", "Check that it presents"]
    {
        assert!(told[0].contains(part), "{told:?} does not say {part}");
    }
    assert!(!told[0].contains("before it was"), "{told:?}");
}

#[test]
fn many_first_refusals_at_once_are_summed_up() {
    let log = Log::begin();
    let (gate, clock) = limited(1);
    let gate = gate.build().unwrap();
    for caller in 0..100 {
        for _ in 0..2 {
            ask(&gate, &format!("203.0.113.{caller}"), "/", &[]);
        }
    }
    let events = log.take();
    assert!((10..=20).contains(&events.len()), "{} events", events.len());
    clock.advance(Duration::from_secs(1));
    ask(&gate, "203.0.113.1", "/", &[]);
    let events = log.take();
    assert!(events.iter().any(|event| event.contains("more callers were refused")), "{events:?}");
}

// A user's own bearer token is no forgery, so its caller is not taken for a service or a guesser.
#[test]
fn users_bearer_tokens_are_not_forged() {
    let (gate, _) = limited(5);
    let gate = gate.bearer().service("edge", SECRET).build().unwrap();
    for request in 0..100 {
        ask(&gate, "203.0.113.7", "/", &[("authorization", &format!("Bearer user-{}", request % 2))]);
        ask(&gate, "203.0.113.8", "/", &[("authorization", "Bearer one-user")]);
    }
    let report = gate.throttled();
    assert!(report.callers.iter().all(|caller| caller.finding == Finding::OneCaller && caller.forged == 0));
}

// By its name, not by the address that it came from first: a user moves, and others have that address too.
#[test]
fn a_user_that_is_named_is_listed_without_its_address() {
    let (gate, _) = limited(5);
    let gate = Arc::new(gate.build().unwrap());
    for request in 0..20 {
        let peer = format!("203.0.113.{}", request % 4);
        let _ = gate.terms().caller("user 4711").decide(peer.parse().ok(), &()).unwrap();
    }
    let [user] = &gate.throttled().callers[..] else { panic!("one user was refused") };
    assert_eq!(user.refused, 15);
    assert!(user.address.starts_with("caller-"), "{user:?}");
}

// A list that was kept in another mode would say what was not.
#[test]
fn another_mode_begins_another_list() {
    let log = Log::begin();
    let (gate, _) = limited(5);
    let gate = gate.mode(Mode::Shadow).service("edge", SECRET).build().unwrap();
    let old = [("x-internal-token", "the secret before it was rotated")];
    let ask = || {
        for _ in 0..20 {
            ask(&gate, "203.0.113.7", "/", &old);
        }
    };
    ask();
    gate.set_mode(Mode::Shadow);
    assert_eq!(gate.throttled().callers[0].refused, 15);
    gate.set_mode(Mode::Enforce);
    assert_eq!(gate.throttled().callers, []);
    assert!(log.take().iter().all(|line| line.contains("would be refused from now on")));
    ask();
    assert_eq!(gate.throttled().callers[0].refused, 20);
    assert!(log.take().iter().any(|line| line.contains("a caller is refused from now on")));
    gate.set_mode(Mode::Off);
    assert_eq!(gate.throttled().callers, []);
}

#[test]
fn in_shadow_mode_the_log_says_that_nobody_is_refused() {
    let log = Log::begin();
    let (gate, clock) = limited(5);
    let gate = gate.mode(Mode::Shadow).service("edge", SECRET).build().unwrap();
    let old = [("x-internal-token", "the secret before it was rotated")];
    for _ in 0..3 {
        for _ in 0..20 {
            ask(&gate, "203.0.113.7", "/", &old);
        }
        clock.advance(Duration::from_secs(1));
    }
    clock.advance(Duration::from_secs(400));
    assert_eq!(gate.throttled().callers, []);
    let told = log.take();
    for part in ["would be refused from now on", "would be refused looks like", "would no longer be refused"]
    {
        assert!(told.iter().filter(|line| line.contains(part)).count() == 1, "{part}: {told:#?}");
    }
    assert!(!told.iter().any(|line| line.contains("is refused") || line.contains("is being")), "{told:#?}");
}

// What trusted proxies wrote tells of them, and many may lead to one caller; what strangers wrote tells of those behind them.
#[test]
fn trusted_proxies_are_no_crowd_and_others_are() {
    let (gate, _) = limited(5);
    let gate = gate.source(Source::XForwardedFor).trust_network("10.0.0.0/8").build().unwrap();
    for request in 0..200 {
        let chain = format!("198.51.100.1, 10.1.0.{}", request % 50);
        ask(&gate, "10.0.0.1", "/", &[("x-forwarded-for", &chain)]);
        let stranger = format!("198.51.100.{}", request % 50);
        ask(&gate, "192.0.2.1", "/", &[("x-forwarded-for", &stranger)]);
    }
    let report = gate.throttled();
    assert_eq!(seen(&report.callers, "198.51.100.1").finding, Finding::OneCaller);
    assert_eq!(seen(&report.callers, "192.0.2.1").finding, Finding::SharedAddress);
}

// An office whose people have one program and tokens of their own.
#[test]
fn users_bearer_tokens_tell_them_apart() {
    let (gate, _) = limited(5);
    let gate = gate.bearer().service("edge", SECRET).build().unwrap();
    for request in 0..100 {
        let token = format!("Bearer user-{}", request % 20);
        ask(&gate, "203.0.113.7", "/", &[("user-agent", "the app/1.0"), ("authorization", &token)]);
    }
    assert_eq!(seen(&gate.throttled().callers, "203.0.113.7").finding, Finding::SharedAddress);
}

// Distinct up to the longest that a secret can be; what is longer costs no more.
#[test]
fn false_credentials_are_told_apart_by_all_that_a_secret_has() {
    for (length, finding) in [(128, Finding::Forging), (40_000, Finding::OwnService(Clue::SecretFails))] {
        let (gate, _) = limited(5);
        let gate = gate.service("edge", SECRET).build().unwrap();
        for request in 0..40 {
            let token =
                format!("{:>half$}{request:02}{:>rest$}", "", "", half = length / 2, rest = length / 2 - 2);
            ask(&gate, "203.0.113.7", "/", &[("x-internal-token", &token.replace(' ', "x"))]);
        }
        assert_eq!(seen(&gate.throttled().callers, "203.0.113.7").finding, finding, "{length}");
    }
}

#[test]
fn a_route_that_no_path_or_each_begins_with_is_told() {
    for prefix in ["", "internal/"] {
        let error = limited(5).0.internal_route(prefix).build().unwrap_err().to_string();
        assert!(error.contains("such as /internal/"), "{error}");
    }
}

// A flood of refusals costs little each, and a crowd that joins it late is seen all the same.
#[test]
fn late_refusals_are_looked_at_now_and_then() {
    let (gate, _) = limited(5);
    let gate = gate.build().unwrap();
    for _ in 0..10_000 {
        ask(
            &gate,
            "203.0.113.7",
            "/",
            &[("user-agent", "scrape/1.0"), ("x-internal-token", "one and the same")],
        );
    }
    let report = gate.throttled();
    let caller = seen(&report.callers, "203.0.113.7");
    assert_eq!((caller.callers, caller.credentials), (1, 1));
    // Every one of them counts.
    assert_eq!((caller.refused, caller.forged, caller.sightings), (9_995, 9_997, 9_997));
    for request in 0..10_000 {
        ask(&gate, "203.0.113.7", "/", &[("user-agent", &format!("agent {}", request % 37))]);
    }
    let report = gate.throttled();
    assert!((25..=50).contains(&seen(&report.callers, "203.0.113.7").callers), "{report:#?}");
}
