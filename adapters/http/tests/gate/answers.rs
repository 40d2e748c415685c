//! What responses say.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tollgate_http::{
    Checkpoint, Clock, Entry, Gate, GateBuilder, ManualClock, Merge, Name, Nanos, Overflow, Quota,
    RefusalBody, RequestFields, Types, Written,
};

use crate::support::{FORGED, PEER, SECRET, decide, field, five, lines, passes};

#[test]
fn admitted_requests_are_told_where_they_stand() {
    let (gate, clock) = (Gate::builder(Quota::per_minute(300)), ManualClock::new());
    let gate = gate.clock(Clock::Manual(clock.clone())).service("edge", SECRET).build().unwrap();
    let fields = gate.fields(&decide(&gate, [])).unwrap();
    assert_eq!(fields.rate_limit_policy(), r#""default";q=300;w=60"#);
    assert_eq!(fields.rate_limit(), r#""default";r=299;t=60"#);
    clock.advance(Duration::from_secs(10));
    let fields = gate.fields(&decide(&gate, [])).unwrap();
    assert_eq!(fields.rate_limit(), r#""default";r=298;t=50"#);
    let lines: Vec<_> = fields.iter().map(|field| (field.name, field.merge)).collect();
    assert_eq!(lines, [("ratelimit-policy", Merge::Append), ("ratelimit", Merge::Append)]);
    assert_eq!(gate.fields(&decide(&gate, [SECRET])), None);
}

#[test]
fn refusals_say_when_to_come_back() {
    let (gate, clock) = five();
    let gate = gate.build().unwrap();
    assert_eq!(passes(&gate, [], 5), 5);
    clock.advance(Duration::from_millis(20_001));
    let answer = gate.refusal(&decide(&gate, []), &()).unwrap();
    assert_eq!(answer.status(), 429);
    assert_eq!(field(&answer, "retry-after"), "40");
    assert_eq!(field(&answer, "cache-control"), "no-store");
    assert_eq!(field(&answer, "ratelimit-policy"), r#""default";q=5;w=60"#);
    assert_eq!(field(&answer, "ratelimit"), r#""default";r=0;t=40"#);
    assert_eq!(field(&answer, "content-type"), "application/problem+json");

    let body: serde_json::Value = serde_json::from_str(answer.body()).unwrap();
    assert_eq!(body["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!(body["status"], 429);
    assert_eq!(body["violated-policies"], serde_json::json!(["default"]));
    assert_eq!(body["detail"], "The limit of 5 requests in 60 s is used up. Try again in 40 s.");
    assert!(body["title"].is_string());
}

const GRPC: [(&str, &str); 1] = [("content-type", "application/grpc")];

#[test]
fn refusals_have_their_fields_in_this_order() {
    let gate = five().0.legacy_fields(true).build().unwrap();
    assert_eq!(passes(&gate, [], 10), 5);
    let told = |fields: &[(&str, &str)]| -> Vec<(String, Merge)> {
        let answer = gate.refusal(&decide(&gate, []), fields).unwrap();
        answer.fields().map(|field| (field.name.to_owned(), field.merge)).collect()
    };
    let standing = [
        ("ratelimit-policy", Merge::Append),
        ("ratelimit", Merge::Append),
        ("x-ratelimit-limit", Merge::Keep),
        ("x-ratelimit-remaining", Merge::Keep),
        ("x-ratelimit-reset", Merge::Keep),
    ];
    let keep = |name| (name, Merge::Keep);
    let own = ["content-type", "retry-after", "cache-control"].map(keep);
    let owned = |fields: &[(&str, Merge)]| -> Vec<(String, Merge)> {
        fields.iter().map(|&(name, merge)| (name.to_owned(), merge)).collect()
    };
    assert_eq!(told(&[]), owned(&[&standing[..], &own].concat()));
    let own =
        ["content-type", "grpc-status", "grpc-message", "grpc-retry-pushback-ms", "cache-control"].map(keep);
    assert_eq!(told(&GRPC), owned(&[&standing[..], &own].concat()));
}

/// An adapter that writes text.
struct Plain;

impl Types for Plain {
    type Name = Vec<u8>;
    type Value = String;

    fn name(name: Name) -> Vec<u8> {
        name.as_str().into()
    }

    fn value(value: bytes::Bytes) -> Option<String> {
        String::from_utf8(value.into()).ok()
    }
}

/// A status, names with values, a body.
type Said = (u16, Vec<(String, String)>, String);

/// A refused request's answer, as an adapter writes it and as `Gate::refusal` has it.
fn both(gate: GateBuilder, fields: &(impl RequestFields + ?Sized)) -> [Said; 2] {
    let checkpoint = Checkpoint::<()>::limits(gate.build().unwrap());
    let gate = checkpoint.gate();
    let decision = loop {
        let decision = gate.decide(Some(PEER), fields).unwrap();
        if !decision.passes() {
            break decision;
        }
    };
    let answer = gate.refusal(&decision, fields).unwrap();
    let told = answer.fields().map(|field| (field.name.to_owned(), field.value.to_owned()));
    let told = (answer.status(), told.collect(), answer.body().to_owned());
    let mut written = Vec::new();
    let refused = || checkpoint.gate().limiter().counts().refused;
    let before = refused();
    let aside = checkpoint.go_straight(Some(&PEER), fields).unwrap_err();
    let Ok(Entry::Answered(reply)) = aside.enter(|(), terms| terms, Some(PEER), || None, fields, "") else {
        panic!("the request is refused")
    };
    assert!(refused() <= before + 1, "it is refused once, by the table or by another limit");
    assert!(reply.decision().is_some_and(|decision| !decision.passes()));
    let Written { status, body, decision } =
        reply.write::<Plain>(|name, value| written.push((String::from_utf8(name).unwrap(), value)));
    assert!(decision.is_some_and(|decision| !decision.passes()));
    [(status, written, String::from_utf8(body.into()).unwrap()), told]
}

#[test]
fn an_ordinary_request_goes_straight() {
    let checkpoint = Checkpoint::<()>::limits(five().0.build().unwrap());
    let counts = || checkpoint.gate().limiter().counts();
    for _ in 0..5 {
        assert!(checkpoint.go_straight(Some(&PEER), &()).unwrap().decision().passes());
    }
    for refused in 1..3 {
        let aside = checkpoint.go_straight(Some(&PEER), &()).unwrap_err();
        let entry = aside.enter(|(), terms| terms, Some(PEER), || None, &(), "").unwrap();
        assert!(matches!(entry, Entry::Answered(_)));
        assert_eq!(counts().refused, refused);
    }
    // Others are asked about first.
    let secret = lines(checkpoint.gate(), [SECRET]);
    assert!(checkpoint.go_straight(None, &()).is_err());
    assert!(checkpoint.go_straight(Some(&PEER), &secret[..]).is_err());
    assert_eq!((counts().refused, counts().exempt), (2, 0));
    let limits = || Checkpoint::<()>::limits(five().0.build().unwrap());
    assert!(limits().go_straight(Some(&PEER), &()).is_ok());
    assert!(limits().on(Arc::new(())).go_straight(Some(&PEER), &()).is_err());
    assert!(Checkpoint::<()>::guard(five().0.build().unwrap()).go_straight(Some(&PEER), &()).is_err());
}

#[test]
fn what_is_written_at_once_is_what_an_answer_says() {
    let clock = ManualClock::new();
    let gates: [fn(GateBuilder) -> GateBuilder; 7] = [
        |gate| gate,
        |gate| gate.legacy_fields(true),
        |gate| gate.rate_limit_fields(false),
        |gate| gate.refusal_body(RefusalBody::PlainText),
        |gate| gate.penalty(1, Duration::from_mins(1), Duration::from_hours(1)),
        |gate| gate.responder(|answer, _| answer.with_status(503).with_field("x-ours", "1")),
        |gate| {
            gate.legacy_fields(true).responder(|answer, _| {
                let names: Vec<_> = answer.fields().map(|field| field.name.to_owned()).collect();
                let names = [&names[..], &names, &["x-ours".to_owned(), "X-Ours".to_owned()]].concat();
                names.iter().fold(answer, |answer, name| answer.with_field(name, "1"))
            })
        },
    ];
    for with in gates {
        for fields in [&[][..], &GRPC] {
            let gate = Gate::builder(Quota::per_minute(5)).clock(Clock::Manual(clock.clone()));
            let [written, told] = both(with(gate), fields);
            assert_eq!(written, told);
            // A response is given each name once, and need not look for it.
            let names: HashSet<_> = written.1.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), written.1.len(), "{written:?}");
            assert!(written.1.iter().any(|(name, ..)| name == "cache-control"), "{written:?}");
        }
    }
}

// Abuse 30: Retry-After 0 for waits below one second.
#[test]
fn no_wait_is_told_as_zero() {
    let clock = ManualClock::new();
    let quota = Quota::new(1, Nanos::from_millis(100));
    let gate = Gate::builder(quota).clock(Clock::Manual(clock.clone())).build().unwrap();
    assert_eq!(passes(&gate, [], 1), 1);
    for _ in 0..99 {
        clock.advance(Duration::from_millis(1));
        let answer = gate.refusal(&decide(&gate, []), &()).unwrap();
        assert_eq!(field(&answer, "retry-after"), "1");
        assert_eq!(field(&answer, "ratelimit-policy"), r#""default";q=1"#);
    }
}

#[test]
fn a_wait_is_never_shorter_than_the_field_says() {
    let (gate, clock) = five();
    let gate = gate.build().unwrap();
    assert_eq!(passes(&gate, [], 5), 5);
    for _ in 0..59 {
        let answer = gate.refusal(&decide(&gate, []), &()).unwrap();
        let (_, t) = field(&answer, "ratelimit").split_once("t=").unwrap();
        assert!(field(&answer, "retry-after").parse::<u64>().unwrap() >= t.parse().unwrap());
        clock.advance(Duration::from_secs(1));
    }
}

#[test]
fn refusals_in_plain_text() {
    let gate = five().0.refusal_body(RefusalBody::PlainText).build().unwrap();
    assert_eq!(passes(&gate, [], 5), 5);
    let answer = gate.refusal(&decide(&gate, []), &()).unwrap();
    assert_eq!(field(&answer, "content-type"), "text/plain; charset=utf-8");
    assert_eq!(answer.body(), "The limit of 5 requests in 60 s is used up. Try again in 60 s.\n");
}

#[test]
fn a_full_table_is_no_reproach_to_the_newcomer() {
    let gate = five().0.capacity(16).overflow(Overflow::Refuse).build().unwrap();
    let peers = (0..=255).map(|host| IpAddr::from([198, 51, 100, host]));
    let refused: Vec<_> =
        peers.filter_map(|peer| gate.refusal(&gate.decide(Some(peer), &()).unwrap(), &())).collect();
    assert_eq!(refused.len(), 240);
    assert!(
        refused.iter().all(|answer| answer.body().contains("New callers can't be counted at the moment."))
    );
}

#[test]
fn structured_fields_parse() {
    use sfv::{BareItem, Item, ListEntry, Parser};
    let gate = Gate::builder(Quota::per_minute(300))
        .policy_name("Per caller and minute (v1); ok=1")
        .build()
        .unwrap();
    let fields = gate.fields(&decide(&gate, [])).unwrap();
    for (text, keys) in [(fields.rate_limit_policy(), ["q", "w"]), (fields.rate_limit(), ["r", "t"])] {
        let list: sfv::List = Parser::new(text).parse().unwrap();
        let [ListEntry::Item(Item { bare_item: BareItem::String(name), params })] = &list[..] else {
            panic!("{text} is no list of one string")
        };
        assert_eq!(name.as_str(), "Per caller and minute (v1); ok=1");
        assert_eq!(params.keys().map(|key| key.as_str()).collect::<Vec<_>>(), keys, "{text}");
        assert!(params.values().all(|value| matches!(value, BareItem::Integer(_))), "{text}");
    }
    let challenge = five().0.credential_header("X-Ours").build().unwrap().unauthorized();
    assert_eq!(field(&challenge, "www-authenticate"), r#"Token realm="internal", header="x-ours""#);
}

#[test]
fn the_longest_texts_fit() {
    let header = "h".repeat(tollgate_http::LONGEST_HEADER_NAME);
    let quota = Quota::new(1, Nanos(1 << 62));
    let gate = Gate::builder(quota).credential_header(&header).policy_name("p".repeat(32)).build().unwrap();
    assert!(field(&gate.unauthorized(), "www-authenticate").ends_with(&format!("header=\"{header}\"")));
    assert_eq!(passes(&gate, [], 2), 1);
    let answer = gate.refusal(&decide(&gate, []), &()).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(answer.body()).is_ok(), "{}", answer.body());
}

#[test]
fn a_decision_is_one_allocation_which_its_clones_share() {
    let gate = Gate::builder(Quota::per_minute(5)).service("edge", SECRET).build().unwrap();
    let requests: Vec<_> = [None, Some(FORGED), Some(SECRET)].map(|line| lines(&gate, line)).into();
    let work = allocation_counter::measure(|| {
        for request in 0..10_000_u32 {
            let peer = IpAddr::from((request % 700).to_be_bytes());
            for request in &requests {
                let decision = gate.decide(Some(peer), &request[..]).unwrap();
                std::hint::black_box(gate.internal(Some(&decision.clone()), &()));
            }
        }
    });
    assert_eq!(work.count_total, 3 * 10_000);
}
