//! What a gate counts through the facade `metrics`, as Prometheus would collect it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metrics_exporter_prometheus::PrometheusBuilder;
use tollgate_http::{
    Gate, Key, Keyer, Mode, Nanos, Policy, Quota, Reason, Refusal, SharedAnswer, SharedBudgets, SharedPolicy,
    SharedStore, SharedVerdict, Standing,
};

const SECRET: &str = "the-edge-s-secret-of-32-bytes...";

/// What a gate counts, or several that one recorder has: each series with its value.
fn counted<G>(build: impl FnOnce() -> G) -> (Arc<G>, impl Fn() -> BTreeMap<String, f64>) {
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

// A recorder can't tell gates apart, so what is looked at adds up, as what is counted does.
#[test]
fn several_gates_of_a_process_add_up() {
    let (gates, read) = counted(|| {
        [1, 2].map(|_| Gate::builder(Quota::per_minute(5)).capacity(16).metrics().build().unwrap())
    });
    let [one, other] = Arc::into_inner(gates).unwrap();
    for caller in 0..60 {
        for _ in 0..3 {
            ask(&one, &format!("198.51.100.{caller}"), None);
        }
        for _ in 0..3 {
            ask(&other, &format!("203.0.113.{caller}"), None);
        }
    }
    let overflow = |gate: &Gate| f64::from(u32::try_from(gate.limiter().counts().inherited).unwrap());
    let throttled = |gate: &Gate| {
        let refused = gate.throttled().callers.iter().filter(|caller| caller.refused > 0).count();
        f64::from(u32::try_from(refused).unwrap())
    };
    let both = throttled(&one) + throttled(&other);
    let overflown = overflow(&one) + overflow(&other);
    assert!(both > 0.0 && overflown > 0.0, "{both} callers, {overflown} newcomers");
    let expect = |slots: f64, callers: f64| {
        let series = read();
        for (name, value) in [
            (r#"tollgate_table_slots{policy="default"}"#, slots),
            (r#"tollgate_throttled_callers{finding="one caller"}"#, callers),
            (r#"tollgate_overflow_total{policy="default",became="inherited"}"#, overflown),
        ] {
            assert_eq!(series.get(name), Some(&value), "{name}");
        }
        for name in series.keys() {
            assert!(is_bounded(name), "{name}");
        }
    };
    for _ in 0..3 {
        one.observe();
        other.observe();
        expect(32.0, both);
    }
    // A gate that is gone throttles nobody; what it counted was counted.
    let left = throttled(&other);
    drop(one);
    expect(16.0, left);
}

/// A store that refuses everybody.
#[derive(Clone, Default)]
struct Store {
    observed: Arc<AtomicUsize>,
}

impl SharedStore for Store {
    fn keyer(&self) -> Keyer {
        Keyer::new([7; 16])
    }

    fn budgets(
        &self,
        _: &[SharedPolicy<'_>],
    ) -> Result<Arc<dyn SharedBudgets>, Box<dyn Error + Send + Sync>> {
        Ok(Arc::new(self.clone()))
    }
}

impl SharedBudgets for Store {
    fn try_check(&self, _: &[(usize, Key)], _: u32, _: Nanos) -> Option<SharedVerdict> {
        let refusal = Refusal::new(5, Nanos::from_secs(60), Reason::OverLimit);
        Some(SharedVerdict::Refused { by: 0, refusal })
    }

    fn check(&self, limits: &[(usize, Key)], cost: u32, now: Nanos) -> SharedAnswer {
        let answer = self.try_check(limits, cost, now);
        Box::pin(async { answer.unwrap() })
    }

    fn refund(&self, _: &[usize], _: &[Standing], _: Nanos) {}

    fn observe(&self) {
        self.observed.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_store_is_counted_and_observed_as_well() {
    let store = Store::default();
    let (gate, read) = counted(|| {
        let gate = Gate::builder(Quota::per_minute(5)).class("paid", Quota::per_minute(9)).metrics();
        gate.shared(store.clone()).build().unwrap()
    });
    assert!(!ask(&gate, "203.0.113.7", None));
    let paid = gate.terms().class("paid").decide("203.0.113.8".parse().ok(), &()).unwrap();
    assert!(!paid.passes());
    gate.observe();
    assert_eq!(store.observed.load(Ordering::Relaxed), 1);
    let series = read();
    for policy in ["default", "paid"] {
        let name = format!("tollgate_decisions_total{{policy=\"{policy}\",outcome=\"refused\"}}");
        assert!((series[&name] - 1.0).abs() < 1e-9, "{series:?}");
    }
    // It has no table here.
    assert!(!series.keys().any(|name| name.starts_with("tollgate_table_slots")), "{series:?}");
}

/// No label has a digit or a point of an address.
fn is_bounded(series: &str) -> bool {
    !series.contains("198.") && !series.contains("203.") && !series.contains("caller-")
}

// With `bearer` the other tokens are the users' own.
#[test]
fn users_bearer_tokens_are_not_counted_as_forged() {
    let (gate, read) = counted(|| {
        Gate::builder(Quota::per_minute(5)).bearer().service("edge", SECRET).metrics().build().unwrap()
    });
    for user in 0..3 {
        let _ = gate.decide("203.0.113.7".parse().ok(), &[("authorization", format!("Bearer user-{user}"))]);
    }
    assert_eq!(read().get("tollgate_forged_total"), Some(&0.0));
}

/// Every name in this text that begins as our metrics do.
fn named(text: &str) -> BTreeSet<&str> {
    text.match_indices("tollgate_")
        .map(|(at, _)| {
            let name = &text[at..];
            &name[..name
                .find(|letter: char| !letter.is_ascii_lowercase() && letter != '_')
                .unwrap_or(name.len())]
        })
        .collect()
}

/// Each `label="value"` or `label=~"one|other"` of a query, as the alternatives that it asks for.
fn matchers(query: &str) -> Vec<(&str, Vec<&str>)> {
    let pair = |(at, _): (usize, &str)| {
        let label =
            query[..at].rsplit(|letter: char| !letter.is_ascii_lowercase() && letter != '_').next()?;
        let value = query[at + 1..].trim_start_matches(['=', '~']).strip_prefix('"')?.split('"').next()?;
        (!label.is_empty()).then(|| (label, value.split('|').collect()))
    };
    query.match_indices('=').filter_map(pair).collect()
}

fn queries(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(members) => {
            found.extend(members.get("expr").and_then(|expr| expr.as_str()).map(str::to_owned));
            members.values().for_each(|member| queries(member, found));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| queries(item, found)),
        _ => {}
    }
}

// The dashboard, the alerts and the table of metrics name what there is, and the table names all of it.
#[test]
fn what_is_drawn_alerted_and_documented_is_what_is_exposed() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/");
    let text = |name: &str| std::fs::read_to_string(format!("{docs}{name}")).unwrap();
    let (gate, read) = counted(|| {
        let gate = Gate::builder(Quota::per_minute(5)).service("edge", SECRET).in_flight(9);
        gate.metrics().build().unwrap()
    });
    gate.observe();
    let series: Vec<_> = read().into_keys().collect();
    let exposed: BTreeSet<_> =
        series.iter().map(|series| series.split('{').next().unwrap_or_default()).collect();
    let (dashboard, alerts, guide) =
        (text("grafana-dashboard.json"), text("alerts.yml"), text("watching.md"));
    assert!(named(&alerts).is_subset(&exposed), "{:?}", named(&alerts));
    assert_eq!(named(&dashboard), exposed);
    let table = guide.split_once("## Metrics").unwrap().1.split_once("\n## ").unwrap().0;
    assert_eq!(
        named(table).into_iter().filter(|name| exposed.contains(name)).collect::<BTreeSet<_>>(),
        exposed
    );

    let mut asked = Vec::new();
    queries(&serde_json::from_str(&dashboard).unwrap(), &mut asked);
    assert!(asked.len() >= 8, "{asked:?}");
    asked.extend(alerts.lines().filter_map(|line| line.trim().strip_prefix("expr:").map(str::to_owned)));
    let mut compared = 0;
    for query in &asked {
        assert!(!named(query).is_empty(), "{query}");
        for (label, values) in matchers(query).into_iter().filter(|(label, _)| *label != "job") {
            for value in values {
                let pair = format!("{label}=\"{value}\"");
                assert!(series.iter().any(|series| series.contains(&pair)), "{pair} of {query}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 4, "{compared} labels");
}
