//! What callers and handlers see.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, Method};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use tokio::task::JoinSet;
use tollgate_axum::{Clock, Decided, Decision, Gate, Identity, Mode, Quota, Reason, TollgateLayer, Verdict};
use tollgate_conformance::{Caller, HEADER, Received, TOKEN, five};

use crate::support::{api, serve};

fn told(reply: &Received) -> [Vec<&str>; 4] {
    ["ratelimit-policy", "ratelimit", "retry-after", "cache-control"].map(|name| reply.lines(name))
}

#[tokio::test]
async fn responses_say_where_a_caller_stands() {
    let (gate, clock) = five();
    let caller = Caller::from(1, serve(api(&Arc::new(gate.build().unwrap()))).await);
    let policy = vec![r#""default";q=5;w=60"#];
    let admitted = caller.get("/").await;
    assert_eq!(admitted.body, "hello");
    assert_eq!(told(&admitted), [policy.clone(), vec![r#""default";r=4;t=60"#], vec![], vec![]]);
    // Also when nobody finds the route.
    let lost = caller.get("/nowhere").await;
    assert_eq!(lost.status, 404);
    assert_eq!(told(&lost), [policy.clone(), vec![r#""default";r=3;t=60"#], vec![], vec![]]);
    caller.statuses("/", 3).await;
    clock.advance(Duration::from_millis(17_500));

    let refused = caller.get("/").await;
    assert_eq!(refused.status, 429);
    assert_eq!(told(&refused), [policy, vec![r#""default";r=0;t=43"#], vec!["43"], vec!["no-store"]]);
    assert_eq!(refused.lines("content-type"), ["application/problem+json"]);
    let body: serde_json::Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!(body["violated-policies"], serde_json::json!(["default"]));

    let exempt = caller.get_with("/", TOKEN).await;
    assert!(told(&exempt).iter().all(Vec::is_empty));
}

#[tokio::test]
async fn head_is_counted_and_has_no_body() {
    let caller = Caller::from(1, serve(api(&Arc::new(five().0.build().unwrap()))).await);
    for remaining in (0..5).rev() {
        let reply = caller.call(Method::HEAD, "/", &[]).await;
        assert_eq!(reply.lines("ratelimit"), [format!("\"default\";r={remaining};t=60")]);
    }
    let refused = caller.call(Method::HEAD, "/", &[]).await;
    assert_eq!((refused.status, refused.body.len()), (429, 0));
    assert_eq!(refused.lines("retry-after"), ["60"]);
    // The connection is still in step.
    assert_eq!(caller.get("/").await.status, 429);
}

// Abuse 7: two credential lines are never exempt.
#[tokio::test]
async fn two_credential_lines_are_never_exempt() {
    let caller = Caller::from(1, serve(api(&Arc::new(five().0.build().unwrap()))).await);
    for second in [TOKEN, "made up", ""] {
        for lines in [[(HEADER, TOKEN), (HEADER, second)], [(HEADER, second), (HEADER, TOKEN)]] {
            let reply = caller.call(Method::GET, "/internal", &lines).await;
            assert!(matches!(reply.status, 401 | 429), "{}", reply.status);
        }
    }
    assert_eq!(caller.statuses("/", 1).await, [429], "they were counted");
}

// Abuse 8: only the exact field name counts, in any case.
#[tokio::test]
async fn aliases_of_the_header_are_no_credential() {
    let caller = Caller::from(1, serve(api(&Arc::new(five().0.build().unwrap()))).await);
    for name in ["x_internal_token", "x.internal.token", "x-internal-token-", "internal-token"] {
        assert_eq!(caller.call(Method::GET, "/internal", &[(name, TOKEN)]).await.status, 401, "{name}");
    }
    assert_eq!(caller.call(Method::GET, "/internal", &[("X-INTERNAL-TOKEN", TOKEN)]).await.status, 200);
}

// Abuse 33: clones, layers and routers share one budget; dropping one changes nothing.
#[tokio::test]
async fn whoever_holds_the_gate_shares_its_budgets() {
    let gate = Arc::new(five().0.build().unwrap());
    let layer = TollgateLayer::new(Arc::clone(&gate));
    let route = || get(|| async { "hello" });
    let one = Router::new().route("/a", route().layer(layer.clone())).route("/b", route().layer(layer));
    let (first, second) = (serve(one).await, serve(api(&gate)).await);
    drop(TollgateLayer::new(Arc::clone(&gate)));
    let mut statuses = Vec::new();
    for (server, path) in [(first, "/a"), (first, "/b"), (second, "/"), (first, "/a"), (second, "/")] {
        // A new connection each time.
        statuses.extend(Caller::from(1, server).statuses(path, 1).await);
    }
    assert_eq!(statuses, [200; 5]);
    assert_eq!(Caller::from(1, first).statuses("/b", 1).await, [429]);
    assert_eq!(Caller::from(1, second).statuses("/", 1).await, [429]);
}

// Abuse 15: check, then consume.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_exactly_the_limit_passes() {
    const LIMIT: usize = 100;
    let gate = Gate::builder(Quota::per_hour(100)).build().unwrap();
    let server = serve(api(&Arc::new(gate))).await;
    for host in 1..=3 {
        let mut callers = JoinSet::new();
        for _ in 0..64 {
            // 64 connections from one address.
            callers.spawn(async move { Caller::from(host, server).statuses("/", 4).await });
        }
        let statuses = callers.join_all().await.concat();
        assert_eq!(statuses.len(), 256);
        assert_eq!(statuses.iter().filter(|&&status| status == 200).count(), LIMIT);
        assert_eq!(statuses.iter().filter(|&&status| status == 429).count(), 256 - LIMIT);
    }
}

#[tokio::test]
async fn nested_limiters_add_their_fields_in_order_and_overwrite_nothing() {
    let (inner, clock) = five();
    let inner = inner.policy_name("inner").build().unwrap();
    let outer =
        Gate::builder(Quota::per_hour(3)).policy_name("outer").clock(Clock::Manual(clock)).build().unwrap();
    let handler = || async {
        let headers =
            [("ratelimit-policy", r#""own";q=1"#), ("cache-control", "max-age=60"), ("retry-after", "7")];
        (headers, "hello")
    };
    let app = Router::new()
        .route("/", get(handler))
        .layer(TollgateLayer::new(inner))
        .layer(TollgateLayer::new(outer));
    let caller = Caller::from(1, serve(app).await);
    let reply = caller.get("/").await;
    let policies = [r#""own";q=1"#, r#""inner";q=5;w=60"#, r#""outer";q=3;w=3600"#];
    assert_eq!(reply.lines("ratelimit-policy"), policies);
    assert_eq!(reply.lines("ratelimit"), [r#""inner";r=4;t=60"#, r#""outer";r=2;t=3600"#]);
    assert_eq!(reply.lines("cache-control"), ["max-age=60"]);
    assert_eq!(reply.lines("retry-after"), ["7"]);
    caller.statuses("/", 2).await;
    let refused = caller.get("/").await;
    assert_eq!(refused.lines("ratelimit-policy"), [r#""outer";q=3;w=3600"#]);
}

#[tokio::test]
async fn handlers_are_told_who_calls() {
    async fn tell(Decided(decision): Decided) -> Json<serde_json::Value> {
        let origin = decision.origin().unwrap();
        Json(serde_json::json!({
            "service": decision.identity().service(),
            "forged": *decision.identity() == Identity::Forged,
            "address": origin.address(),
            "key": origin.to_string(),
            "remaining": match decision.verdict() {
                Some(Verdict::Admitted(standing)) => Some(standing.remaining),
                _ => None,
            },
        }))
    }
    let app = Router::new().route("/", get(tell)).layer(TollgateLayer::new(five().0.build().unwrap()));
    let caller = Caller::from(9, serve(app).await);
    let cases = [
        (
            vec![],
            r#"{"service":null,"forged":false,"address":"127.1.0.9","key":"127.1.0.9/32","remaining":4}"#,
        ),
        (
            vec![(HEADER, "made up")],
            r#"{"service":null,"forged":true,"address":"127.1.0.9","key":"127.1.0.9/32","remaining":3}"#,
        ),
        (
            vec![(HEADER, TOKEN)],
            r#"{"service":"edge","forged":false,"address":"127.1.0.9","key":"127.1.0.9/32","remaining":null}"#,
        ),
    ];
    for (fields, expected) in cases {
        let reply = caller.call(Method::GET, "/", &fields).await;
        let told: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(told, serde_json::from_str::<serde_json::Value>(expected).unwrap());
    }
}

#[tokio::test]
async fn outer_layers_learn_who_was_refused_and_why() {
    async fn note(request: axum::extract::Request, next: Next) -> impl IntoResponse {
        let mut response = next.run(request).await;
        let decision = response.extensions().get::<Decision>().cloned();
        if let Some(refusal) = decision.and_then(|decision| decision.refusal()) {
            assert_eq!(refusal.reason, Reason::OverLimit);
            response.headers_mut().insert("x-noted", HeaderValue::from_static("over limit"));
        }
        response
    }
    let app = api(&Arc::new(five().0.build().unwrap())).layer(from_fn(note));
    let caller = Caller::from(1, serve(app).await);
    for _ in 0..5 {
        assert_eq!(caller.get("/").await.lines("x-noted"), [""; 0]);
    }
    assert_eq!(caller.get("/").await.lines("x-noted"), ["over limit"]);
}

#[tokio::test]
async fn shadow_and_off_refuse_nobody() {
    for (mode, told) in [(Mode::Shadow, vec![r#""default";r=0;t=60"#]), (Mode::Off, vec![])] {
        let gate = Arc::new(five().0.mode(mode).build().unwrap());
        let caller = Caller::from(1, serve(api(&gate)).await);
        assert_eq!(caller.statuses("/", 19).await, [200; 19]);
        let reply = caller.get("/").await;
        assert_eq!((reply.status, reply.lines("ratelimit")), (200, told));
        assert_eq!(reply.lines("retry-after"), [""; 0]);
        assert_eq!(caller.get_with("/internal", "made up").await.status, 401);
    }
}
