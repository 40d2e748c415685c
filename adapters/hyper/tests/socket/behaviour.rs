//! What callers and handlers see.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::service::{Service, service_fn};
use hyper::{Method, Request, Response};
use tokio::task::JoinSet;
use tollgate_conformance::{Caller, HEADER, TOKEN, five};
use tollgate_hyper::{Decision, Gate, Identity, Mode, Quota, Reason, Tollgate, Verdict, decided};

use crate::support::{serve, serve_api, serve_each};

// Abuse 7: two credential lines are never exempt.
#[tokio::test]
async fn two_credential_lines_are_never_exempt() {
    let caller = Caller::from(1, serve_api(&Arc::new(five().0.build().unwrap())).await);
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
    let caller = Caller::from(1, serve_api(&Arc::new(five().0.build().unwrap())).await);
    for name in ["x_internal_token", "x.internal.token", "x-internal-token-", "internal-token"] {
        assert_eq!(caller.call(Method::GET, "/internal", &[(name, TOKEN)]).await.status, 401, "{name}");
    }
    assert_eq!(caller.call(Method::GET, "/internal", &[("X-INTERNAL-TOKEN", TOKEN)]).await.status, 200);
}

// Abuse 33: clones, connections and servers share one budget; dropping one changes nothing.
#[tokio::test]
async fn whoever_holds_the_gate_shares_its_budgets() {
    let gate = Arc::new(five().0.build().unwrap());
    let (first, second) = (serve_api(&gate).await, serve_api(&gate).await);
    drop(Tollgate::new(Arc::clone(&gate)).wrap((), None::<IpAddr>));
    let mut statuses = Vec::new();
    for server in [first, second, first, second, first] {
        // A new connection each time.
        statuses.extend(Caller::from(1, server).statuses("/", 1).await);
    }
    assert_eq!(statuses, [200; 5]);
    assert_eq!(Caller::from(1, first).statuses("/", 1).await, [429]);
    assert_eq!(Caller::from(1, second).statuses("/", 1).await, [429]);
}

// Abuse 15: check, then consume.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_exactly_the_limit_passes() {
    const LIMIT: usize = 100;
    let gate = Gate::builder(Quota::per_hour(100)).build().unwrap();
    let server = serve_api(&Arc::new(gate)).await;
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
async fn handlers_are_told_who_calls() {
    async fn tell(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let decision = decided(&request).unwrap();
        let origin = decision.origin().unwrap();
        let told = serde_json::json!({
            "service": decision.identity().service(),
            "forged": *decision.identity() == Identity::Forged,
            "key": origin.to_string(),
            "remaining": match decision.verdict() {
                Some(Verdict::Admitted(standing)) => Some(standing.remaining),
                _ => None,
            },
        });
        Ok(Response::new(told.to_string().into()))
    }
    let tollgate = Tollgate::new(five().0.build().unwrap());
    let caller = Caller::from(9, serve(&tollgate, service_fn(tell)).await);
    let cases = [
        (vec![], r#"{"service":null,"forged":false,"key":"127.1.0.9/32","remaining":4}"#),
        (vec![(HEADER, "made up")], r#"{"service":null,"forged":true,"key":"127.1.0.9/32","remaining":3}"#),
        (vec![(HEADER, TOKEN)], r#"{"service":"edge","forged":false,"key":"127.1.0.9/32","remaining":null}"#),
    ];
    for (fields, expected) in cases {
        let reply = caller.call(Method::GET, "/", &fields).await;
        let told: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(told, serde_json::from_str::<serde_json::Value>(expected).unwrap());
    }
    assert!(decided(&Request::new(())).is_none());
}

#[tokio::test]
async fn outer_services_learn_who_is_over_the_limit() {
    let gate = Arc::new(five().0.build().unwrap());
    let tollgate = Tollgate::new(Arc::clone(&gate));
    let make = move |peer: SocketAddr| {
        let hello =
            service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("hello"))) });
        let limited = tollgate.wrap(hello, Some(peer.ip()));
        service_fn(move |request: Request<Incoming>| {
            let response = limited.call(request);
            async {
                let mut response = response.await?;
                if let Some(Verdict::Refused(refusal)) =
                    response.extensions().get().and_then(Decision::verdict)
                {
                    assert_eq!(refusal.reason, Reason::OverLimit);
                    response.headers_mut().insert("x-noted", HeaderValue::from_static("over limit"));
                }
                Ok::<_, Infallible>(response)
            }
        })
    };
    let caller = Caller::from(1, serve_each(make).await);
    for _ in 0..5 {
        assert_eq!(caller.get("/").await.lines("x-noted"), [""; 0]);
    }
    let refused = caller.get("/").await;
    assert_eq!((refused.status, refused.lines("x-noted")), (429, vec!["over limit"]));
    gate.set_mode(Mode::Shadow);
    let watched = caller.get("/").await;
    assert_eq!((watched.status, watched.lines("x-noted")), (200, vec!["over limit"]));
}

#[tokio::test]
async fn of_two_limiters_the_one_that_refuses_tells_why() {
    let watching = five().0.policy_name("outer").mode(Mode::Shadow).build().unwrap();
    let (outer, inner) = (Tollgate::new(watching), Tollgate::new(five().0.build().unwrap()));
    let make = move |peer: SocketAddr| {
        let peer = Some(peer.ip());
        let hello =
            service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("hello"))) });
        let limited = outer.wrap(inner.wrap(hello, peer), peer);
        service_fn(move |request: Request<Incoming>| {
            let response = limited.call(request);
            async {
                let response = response.await?;
                let decision = response.extensions().get::<Decision>();
                // Both are over the limit by then, and the outer one refuses nobody.
                assert_eq!(decision.is_some_and(|decision| !decision.passes()), response.status() == 429);
                Ok::<_, Infallible>(response)
            }
        })
    };
    let caller = Caller::from(1, serve_each(make).await);
    assert_eq!(caller.statuses("/", 7).await, [200, 200, 200, 200, 200, 429, 429]);
}

#[tokio::test]
async fn modes_change_from_one_request_to_the_next() {
    let gate = Arc::new(five().0.build().unwrap());
    let caller = Caller::from(1, serve_api(&gate).await);
    assert_eq!(caller.statuses("/", 6).await, [200, 200, 200, 200, 200, 429]);
    for (mode, told) in [(Mode::Shadow, vec![r#""default";r=0;t=60"#]), (Mode::Off, vec![])] {
        gate.set_mode(mode);
        assert_eq!(caller.statuses("/", 19).await, [200; 19]);
        let reply = caller.get("/").await;
        assert_eq!((reply.status, reply.lines("ratelimit")), (200, told));
        assert_eq!(reply.lines("retry-after"), [""; 0]);
        assert_eq!(caller.get_with("/internal", "made up").await.status, 401);
    }
    gate.set_mode(Mode::Enforce);
    assert_eq!(caller.statuses("/", 1).await, [429]);
    gate.set_quota("default", Quota::per_minute(7)).unwrap();
    assert_eq!(caller.statuses("/", 3).await, [200, 200, 429]);
}
