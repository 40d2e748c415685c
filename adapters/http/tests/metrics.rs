//! What a gate counts through the facade `metrics`, as Prometheus would collect it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::collections::BTreeMap;
use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusBuilder;
use tollgate_http::{Gate, Mode, Policy, Quota};

const SECRET: &str = "the-edge-s-secret-of-32-bytes...";

/// A gate whose recorder can be read: each series with its value.
fn counted(build: impl FnOnce() -> Gate) -> (Arc<Gate>, impl Fn() -> BTreeMap<String, f64>) {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let gate = metrics::with_local_recorder(&recorder, build);
    // The handles outlive the recorder.
    let read = move || {
        let text = handle.render();
        let series = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        series
            .map(|line| {
                let (name, value) = line.rsplit_once(' ').unwrap();
                (name.to_owned(), value.parse().unwrap())
            })
            .collect()
    };
    (Arc::new(gate), read)
}

fn ask(gate: &Gate, peer: &str, token: Option<&str>) -> bool {
    let fields: Vec<_> = token.into_iter().map(|token| ("x-internal-token", token)).collect();
    gate.decide(peer.parse().ok(), &fields[..]).unwrap().passes()
}

#[test]
fn decisions_are_counted_by_policy_and_outcome_and_services_by_name() {
    let (gate, read) = counted(|| {
        Gate::builder(Quota::per_minute(5))
            .policy(Policy::new("network", Quota::per_minute(8)).v4_prefix(24))
            .class("paid", Quota::per_minute(100))
            .service("edge", SECRET)
            .metrics()
            .build()
            .unwrap()
    });
    for _ in 0..7 {
        ask(&gate, "203.0.113.7", None);
    }
    for _ in 0..4 {
        ask(&gate, "203.0.113.8", Some("made up, but not by us"));
    }
    for _ in 0..3 {
        assert!(ask(&gate, "203.0.113.9", Some(SECRET)));
    }
    let paid = gate.terms().caller("a user").class("paid").decide("198.51.100.1".parse().ok(), &()).unwrap();
    assert!(paid.passes());
    let series = read();
    for (name, value) in [
        (r#"tollgate_decisions_total{policy="default",outcome="admitted"}"#, 8.0),
        (r#"tollgate_decisions_total{policy="default",outcome="refused"}"#, 2.0),
        (r#"tollgate_decisions_total{policy="network",outcome="admitted"}"#, 9.0),
        (r#"tollgate_decisions_total{policy="network",outcome="refused"}"#, 1.0),
        (r#"tollgate_decisions_total{policy="paid",outcome="admitted"}"#, 1.0),
        (r#"tollgate_exempt_total{service="edge"}"#, 3.0),
        ("tollgate_forged_total", 4.0),
    ] {
        assert_eq!(series.get(name), Some(&value), "{name}: {series:#?}");
    }
}

#[test]
fn what_is_looked_at_is_brought_to_date() {
    let (gate, read) = counted(|| {
        let quota = Quota::per_minute(5);
        Gate::builder(quota)
            .capacity(16)
            .service("edge", SECRET)
            .mode(Mode::Shadow)
            .metrics()
            .build()
            .unwrap()
    });
    for _ in 0..20 {
        ask(&gate, "10.0.0.1", Some("the secret before it was rotated"));
        ask(&gate, "203.0.113.7", None);
    }
    for _ in 0..4 {
        ask(&gate, "203.0.113.8", None);
    }
    gate.observe();
    let series = read();
    for (name, value) in [
        (r#"tollgate_decisions_total{policy="default",outcome="would_refuse"}"#, 30.0),
        (r#"tollgate_throttled_callers{finding="own service"}"#, 1.0),
        (r#"tollgate_throttled_refusals{finding="own service"}"#, 15.0),
        (r#"tollgate_throttled_callers{finding="one caller"}"#, 1.0),
        (r#"tollgate_throttled_callers{finding="forging"}"#, 0.0),
        ("tollgate_near_limit_callers", 1.0),
        (r#"tollgate_table_slots{policy="default"}"#, 16.0),
        (r#"tollgate_table_restraining_slots{policy="default"}"#, 3.0),
        (r#"tollgate_overflow_total{policy="default",became="inherited"}"#, 0.0),
    ] {
        assert_eq!(series.get(name), Some(&value), "{name}: {series:#?}");
    }
    // More callers than the table has room for.
    for caller in 0..60 {
        ask(&gate, &format!("198.51.100.{caller}"), None);
    }
    gate.observe();
    assert!(read()[r#"tollgate_overflow_total{policy="default",became="inherited"}"#] > 0.0);
    // Labels are bounded: no series came with these callers.
    assert_eq!(read().len(), series.len());
    assert!(series.keys().all(|name| !name.contains("203.0.113")));
}
