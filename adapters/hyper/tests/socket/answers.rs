//! What responses say.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use tollgate_conformance::{Caller, Received, TOKEN, five};
use tollgate_hyper::{Clock, Gate, Quota, Tollgate};

use crate::support::{serve, serve_api, serve_each};

fn told(reply: &Received) -> [Vec<&str>; 4] {
    ["ratelimit-policy", "ratelimit", "retry-after", "cache-control"].map(|name| reply.lines(name))
}

#[tokio::test]
async fn responses_say_where_a_caller_stands() {
    let (gate, clock) = five();
    let caller = Caller::from(1, serve_api(&Arc::new(gate.build().unwrap())).await);
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
    assert_eq!((exempt.status, told(&exempt)), (200, [const { vec![] }; 4]));
}

#[tokio::test]
async fn head_is_counted_and_has_no_body() {
    for over in [Caller::from, Caller::over_http2] {
        let caller = over(1, serve_api(&Arc::new(five().0.build().unwrap())).await);
        let forged = caller.call(Method::HEAD, "/internal", &[]).await;
        assert_eq!((forged.status, forged.body.len()), (401, 0));
        for remaining in (0..4).rev() {
            let reply = caller.call(Method::HEAD, "/", &[]).await;
            assert_eq!(reply.lines("ratelimit"), [format!("\"default\";r={remaining};t=60")]);
        }
        let refused = caller.call(Method::HEAD, "/", &[]).await;
        assert_eq!((refused.status, refused.body.len()), (429, 0));
        assert_eq!(refused.lines("retry-after"), ["60"]);
        // The connection is still in step, and the length is told that GET has.
        let body = caller.get("/").await.body;
        assert_eq!(refused.lines("content-length"), [body.len().to_string()]);
    }
}

#[tokio::test]
async fn grpc_is_refused_in_its_own_way() {
    for over in [Caller::from, Caller::over_http2] {
        let caller = over(1, serve_api(&Arc::new(five().0.build().unwrap())).await);
        caller.statuses("/", 5).await;
        let refused = caller.call(Method::POST, "/", &[("content-type", "application/grpc+proto")]).await;
        assert_eq!((refused.status, refused.lines("grpc-status")), (200, vec!["8"]));
        let wait: u32 = refused.lines("grpc-retry-pushback-ms")[0].parse().unwrap();
        assert!((59_000..=60_000).contains(&wait), "{wait}");
        assert_eq!(refused.lines("content-type"), ["application/grpc"]);
        assert!(refused.body.is_empty() && refused.lines("retry-after").is_empty());
    }
}

#[tokio::test]
async fn a_responder_words_the_refusal() {
    let gate = five().0.responder(|answer, decision| {
        let address = decision.origin().map(|origin| origin.address().to_string()).unwrap_or_default();
        let answer = answer.with_status(503).with_field("x-caller", address).with_field("x\n", "unsendable");
        answer.with_field("x-bad", "a\r\nb").with_body("text/html", "<h1>Slow down</h1>")
    });
    let caller = Caller::from(1, serve_api(&Arc::new(gate.build().unwrap())).await);
    caller.statuses("/", 5).await;
    let refused = caller.get("/").await;
    assert_eq!((refused.status, &refused.body[..]), (503, &b"<h1>Slow down</h1>"[..]));
    assert_eq!(refused.lines("content-type"), ["text/html"]);
    assert_eq!((refused.lines("x-caller"), refused.lines("x-bad")), (vec!["127.1.0.1"], vec![]));
    assert_eq!(refused.lines("retry-after"), ["60"]);
}

#[tokio::test]
async fn older_fields_on_request_unless_the_application_sets_them() {
    let gate = five().0.legacy_fields(true).rate_limit_fields(false).build().unwrap();
    let handler = |request: Request<Incoming>| async move {
        let mut response = Response::new(Full::<Bytes>::from("hello"));
        if request.uri().path() == "/own" {
            response.headers_mut().insert("x-ratelimit-limit", "9".parse().unwrap());
        }
        Ok::<_, Infallible>(response)
    };
    let caller = Caller::from(1, serve(&Tollgate::new(gate), service_fn(handler)).await);
    for (path, expected) in [("/", [["5"], ["4"], ["60"]]), ("/own", [["9"], ["3"], ["60"]])] {
        let reply = caller.get(path).await;
        let names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
        assert_eq!(names.map(|name| reply.lines(name)), expected);
        assert_eq!(reply.lines("ratelimit"), [""; 0]);
    }
}

#[tokio::test]
async fn nested_limiters_add_their_fields_in_order_and_overwrite_nothing() {
    let (inner, clock) = five();
    let inner = Tollgate::new(inner.policy_name("inner").build().unwrap());
    let outer = Gate::builder(Quota::per_hour(7)).policy_name("outer").clock(Clock::Manual(clock));
    let outer = Tollgate::new(outer.build().unwrap());
    let handler = |_: Request<Incoming>| async {
        let response = Response::builder()
            .header("ratelimit-policy", r#""own";q=1"#)
            .header("cache-control", "max-age=60")
            .header("retry-after", "7")
            .body(Full::<Bytes>::from("hello"));
        Ok::<_, Infallible>(response.unwrap())
    };
    let make = move |peer: SocketAddr| {
        let peer = Some(peer.ip());
        outer.wrap(inner.wrap(service_fn(handler), peer), peer)
    };
    let caller = Caller::from(1, serve_each(make).await);
    let reply = caller.get("/").await;
    let policies = [r#""own";q=1"#, r#""inner";q=5;w=60"#, r#""outer";q=7;w=3600"#];
    assert_eq!(reply.lines("ratelimit-policy"), policies);
    assert_eq!(reply.lines("ratelimit"), [r#""inner";r=4;t=60"#, r#""outer";r=6;t=3600"#]);
    assert_eq!(reply.lines("cache-control"), ["max-age=60"]);
    assert_eq!(reply.lines("retry-after"), ["7"]);
    caller.statuses("/", 4).await;
    // What the inner one refuses the outer one has charged.
    let refused = caller.get("/").await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.lines("ratelimit"), [r#""inner";r=0;t=60"#, r#""outer";r=1;t=3600"#]);
    caller.get("/").await;
    let refused = caller.get("/").await;
    assert_eq!(refused.lines("ratelimit-policy"), [r#""outer";q=7;w=3600"#]);
}

#[tokio::test]
async fn an_outer_limiter_gives_back_what_an_inner_one_refuses_if_it_is_told_to() {
    let (inner, clock) = five();
    let inner = Tollgate::new(inner.policy_name("inner").build().unwrap());
    let outer = Gate::builder(Quota::per_hour(7)).policy_name("outer").clock(Clock::Manual(clock));
    let outer = Tollgate::new(outer.refund_inner_refusals().build().unwrap());
    let make = move |peer: SocketAddr| {
        let peer = Some(peer.ip());
        outer.wrap(inner.wrap(service_fn(hello), peer), peer)
    };
    let caller = Caller::from(1, serve_each(make).await);
    caller.statuses("/", 5).await;
    for _ in 0..9 {
        let refused = caller.get("/").await;
        assert_eq!(refused.lines("ratelimit"), [r#""inner";r=0;t=60"#, r#""outer";r=2;t=3600"#]);
    }
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new("hello".into()))
}
