//! What responses say.

use std::time::Duration;

use http::Method;
use tollgate_actix_web::{Answer, Mode, Quota};
use tollgate_conformance::{Caller, Received, TOKEN, five};

use crate::support::{api, built};

fn told(reply: &Received) -> [Vec<&str>; 4] {
    ["ratelimit-policy", "ratelimit", "retry-after", "cache-control"].map(|name| reply.lines(name))
}

#[tokio::test]
async fn responses_say_where_a_caller_stands() {
    let (gate, clock) = five();
    let caller = Caller::from(1, api(&built(gate)));
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
    let caller = Caller::from(1, api(&built(five().0)));
    for remaining in (0..5).rev() {
        let reply = caller.call(Method::HEAD, "/", &[]).await;
        assert_eq!((reply.status, reply.body.len()), (200, 0));
        assert_eq!(reply.lines("ratelimit"), [format!("\"default\";r={remaining};t=60")]);
    }
    let refused = caller.call(Method::HEAD, "/", &[]).await;
    assert_eq!((refused.status, refused.body.len()), (429, 0));
    assert_eq!(refused.lines("retry-after"), ["60"]);
    // The connection is still in step.
    assert_eq!(caller.get("/").await.status, 429);
}

#[tokio::test]
async fn a_mode_holds_from_the_next_request_on() {
    let gate = built(five().0);
    let caller = Caller::from(1, api(&gate));
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
    assert_eq!(caller.statuses("/", 2).await, [429, 429]);
    gate.set_quota("default", Quota::per_minute(7)).unwrap();
    assert_eq!(caller.statuses("/", 3).await, [200, 200, 429]);
}

#[tokio::test]
async fn a_responder_answers_in_the_gates_place() {
    let respond = |answer: Answer, _: &_| {
        answer
            .with_status(503)
            .with_body("text/html", "<h1>Slow down</h1>")
            .with_field("x-help", "/limits")
            .with_field("x-unsendable", "a\nb")
    };
    let caller = Caller::from(1, api(&built(five().0.responder(respond).legacy_fields(true))));
    caller.statuses("/", 5).await;
    let refused = caller.get("/").await;
    assert_eq!((refused.status, &*refused.body), (503, &b"<h1>Slow down</h1>"[..]));
    assert_eq!([refused.lines("content-type"), refused.lines("x-help")], [["text/html"], ["/limits"]]);
    assert_eq!([refused.lines("retry-after"), refused.lines("x-ratelimit-remaining")], [["60"], ["0"]]);
    assert_eq!(refused.lines("x-unsendable"), [""; 0]);
}

#[tokio::test]
async fn clients_of_grpc_get_a_status_of_theirs() {
    let caller = Caller::from(1, api(&built(five().0)));
    caller.statuses("/", 5).await;
    let refused = caller.call(Method::POST, "/", &[("content-type", "application/grpc+proto")]).await;
    assert_eq!((refused.status, refused.lines("grpc-status")), (200, vec!["8"]));
    assert_eq!(refused.lines("content-type"), ["application/grpc"]);
    assert_eq!(refused.lines("grpc-retry-pushback-ms"), ["59996"]);
    assert!(refused.body.is_empty());
}
