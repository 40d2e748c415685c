//! What callers and handlers see.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use tollgate_conformance::{Caller, five};
use tollgate_hyper::{Decision, Mode, Reason, Tollgate, Verdict, decided};

use crate::support::{serve_api, serve_each};

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

#[test]
fn a_request_that_no_gate_has_seen_is_undecided() {
    assert!(decided(&Request::new(())).is_none());
}
