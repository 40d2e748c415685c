//! The report of throttled callers, as it is answered.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tollgate_http::{
    Addresses, Answer, Clock, Gate, GateBuilder, ManualClock, Mode, Policy, Quota, RequestFields,
};

const SECRET: &str = "the secret of whoever is on call";
const OWN: (&str, &str) = ("x-internal-token", SECRET);

fn gate() -> GateBuilder {
    Gate::builder(Quota::per_minute(5))
        .service("on-call", SECRET)
        .clock(Clock::Manual(ManualClock::new()))
        .addresses(Addresses::Shown)
}

fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")))
}

fn ask(gate: &Gate, method: &str, query: Option<&str>, fields: &[(&str, &str)]) -> Answer {
    gate.report_answer(method, query, fields)
}

fn call(gate: &Gate, peer: &str, fields: &(impl RequestFields + ?Sized)) {
    let _ = gate.decide(peer.parse().ok(), fields).unwrap();
}

fn lines<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    answer.fields().filter(|field| field.name == name).map(|field| field.value).collect()
}

fn json(gate: &Gate) -> Value {
    let answer = ask(gate, "GET", Some("format=json"), &[OWN]);
    assert_eq!(lines(&answer, "content-type"), ["application/json"]);
    serde_json::from_str(answer.body()).unwrap()
}

#[test]
fn only_our_own_see_it() {
    let gate = gate().service("edge", "another secret, of the edge").build().unwrap();
    let bearer = Gate::builder(Quota::per_minute(5))
        .bearer()
        .service("on-call", "a-secret-of-16-bytes")
        .build()
        .unwrap();
    let status = |gate: &Gate, fields: &[(&str, &str)]| ask(gate, "GET", None, fields).status();
    let (good, other) = (basic("me", SECRET), basic("", "another secret, of the edge"));
    assert_eq!(status(&gate, &[OWN]), 200);
    assert_eq!(status(&gate, &[("authorization", &good)]), 200);
    assert_eq!(status(&gate, &[("authorization", &other)]), 200);
    assert_eq!(status(&gate, &[("x-internal-token", "made up"), ("authorization", &good)]), 200);
    assert_eq!(status(&bearer, &[("authorization", "Bearer a-secret-of-16-bytes")]), 200);
    assert_eq!(status(&bearer, &[("authorization", &basic("me", "a-secret-of-16-bytes"))]), 200);

    let swapped = basic(SECRET, "me");
    for fields in [
        &[][..],
        &[("x-internal-token", "made up")],
        &[("x-internal-token", "")],
        &[OWN, OWN],
        &[("authorization", &basic("me", ""))],
        &[("authorization", &basic("me", &SECRET[1..]))],
        &[("authorization", &swapped)],
        &[("authorization", &good), ("authorization", &good)],
        &[("authorization", SECRET)],
        &[("authorization", &format!("Bearer {SECRET}"))],
    ] {
        for method in ["GET", "HEAD", "POST"] {
            let answer = ask(&gate, method, Some("format=json"), fields);
            assert_eq!(answer.status(), 401, "{fields:?}");
            assert_eq!(lines(&answer, "cache-control"), ["no-store"]);
            assert!(!answer.body().contains("callers"), "{}", answer.body());
            // A browser takes the first scheme of a line.
            let challenges = lines(&answer, "www-authenticate");
            assert_eq!(challenges.len(), 2);
            assert!(
                challenges[0].starts_with("Token ") && challenges[1].starts_with("Basic realm="),
                "{challenges:?}"
            );
        }
    }
    // A gate without secrets shows it to nobody.
    let closed = Gate::builder(Quota::per_minute(5)).build().unwrap();
    assert_eq!(status(&closed, &[OWN, ("authorization", &good)]), 401);
}

#[test]
fn it_is_read_and_nothing_else() {
    let gate = gate().build().unwrap();
    assert_eq!(ask(&gate, "HEAD", None, &[OWN]).status(), 200);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "get", ""] {
        let answer = ask(&gate, method, None, &[OWN]);
        assert_eq!((answer.status(), &*lines(&answer, "allow")), (405, &["GET, HEAD"][..]), "{method}");
        assert_eq!(lines(&answer, "cache-control"), ["no-store"]);
    }
}

#[test]
fn the_json_has_all_that_the_report_has() {
    let gate = gate()
        .policy(Policy::new("everyone", Quota::per_second(900)).for_everyone())
        .class("paid", Quota::per_minute(50))
        .in_flight(9)
        .internal_route("/internal/")
        .build()
        .unwrap();
    for request in 0..20 {
        let old = [("x-internal-token", "the secret before it was rotated")];
        call(&gate, "10.0.0.1", &old);
        call(&gate, "10.0.0.2", &Internal);
        call(&gate, "198.51.100.7", &());
        call(&gate, "198.51.100.9", &[("x-internal-token", format!("guess {request}"))]);
        call(&gate, "192.0.2.1", &[("user-agent", format!("browser {request}"))]);
    }
    for _ in 0..4 {
        call(&gate, "192.0.2.50", &());
    }
    let told = json(&gate);
    assert!(told["at"].as_f64().unwrap() > 1e9);
    assert_eq!(told["mode"], "enforce");
    assert_eq!(
        told["policies"],
        json!([
            {"name": "default", "limit": 5, "window": 60.0},
            {"name": "everyone", "limit": 900, "window": 1.0},
            {"name": "paid", "limit": 50, "window": 60.0},
            {"name": "in-flight", "limit": 9, "window": null},
        ])
    );
    assert_eq!(told["capacity"], 448);
    assert_eq!(told["lost"], json!({"refusals": 0, "near": 0, "callers": 0, "recoveries": 0, "details": 0}));
    let callers = told["callers"].as_array().unwrap();
    let found = |address: &str| callers.iter().find(|caller| caller["address"] == address).unwrap();
    for (address, refused, finding, clue) in [
        ("10.0.0.1", 15, "own service", json!("secret fails")),
        ("10.0.0.2", 15, "own service", json!("internal routes")),
        ("198.51.100.7", 15, "one caller", Value::Null),
        ("198.51.100.9", 15, "forging", Value::Null),
        ("192.0.2.1", 15, "shared address", Value::Null),
        ("192.0.2.50", 0, "one caller", Value::Null),
    ] {
        let caller = found(address);
        assert_eq!(
            (&caller["refused"], &caller["finding"], &caller["clue"]),
            (&json!(refused), &json!(finding), &clue)
        );
        assert!(!caller["reason"].as_str().unwrap().is_empty());
    }
    let forger = found("198.51.100.9").as_object().unwrap();
    assert_eq!(
        (&forger["sightings"], &forger["forged"], &forger["internal"]),
        (&json!(17), &json!(17), &json!(0))
    );
    assert!(forger["first"].as_f64().unwrap() <= forger["last"].as_f64().unwrap());
    let names = "address callers clue credentials finding first forged id internal last missed reason refused sightings";
    assert_eq!(forger.keys().map(String::as_str).collect::<Vec<_>>(), names.split(' ').collect::<Vec<_>>());
}

/// A request for an internal route.
struct Internal;

impl RequestFields for Internal {
    fn lines<'r>(&'r self, _: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        std::iter::empty()
    }

    fn path(&self) -> Option<&str> {
        Some("/internal/turns/7")
    }
}

#[test]
fn modes_are_told() {
    for (mode, word) in [(Mode::Enforce, "enforce"), (Mode::Shadow, "shadow"), (Mode::Off, "off")] {
        assert_eq!(json(&gate().mode(mode).build().unwrap())["mode"], word);
    }
    assert_eq!(json(&gate().without_watch().build().unwrap())["capacity"], 0);
}

#[test]
fn the_page_carries_the_report_and_says_what_it_may_do() {
    // A policy's name is the only text of a report that anybody chooses freely.
    let gate = gate().policy_name("</script><script>a=1</script>").build().unwrap();
    let answer = ask(&gate, "GET", None, &[OWN, ("accept", "text/html,*/*;q=0.8")]);
    assert_eq!(answer.status(), 200);
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "no-referrer"),
    ] {
        assert_eq!(lines(&answer, name), [value]);
    }
    let [policy] = lines(&answer, "content-security-policy")[..] else { panic!("one policy") };
    assert!(
        policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert!(answer.body().starts_with("<!doctype html>") && !answer.body().contains("<script>a=1"));
    let (_, rest) = answer.body().split_once(r#"<script type="application/json" id="report">"#).unwrap();
    let embedded: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(embedded["policies"], json(&gate)["policies"]);
}
