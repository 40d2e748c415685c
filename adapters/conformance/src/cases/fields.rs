//! What responses tell of limits.

use tollgate_http::{Nanos, Policy, Quota};

use crate::case::cases;
use crate::reply::Reply;
use crate::request::Request;

fn told(reply: &Reply) -> (u16, Vec<&str>, Vec<&str>) {
    (reply.status, reply.lines("ratelimit-policy"), reply.lines("ratelimit"))
}

const POLICY: &str = r#""default";q=5;w=60"#;

cases! {
    /// Admitted requests are told the policy, what remains, and until when.
    async fn admitted_requests_are_told(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        assert_eq!(told(&caller.get("/").await), (200, vec![POLICY], vec![r#""default";r=4;t=60"#]));
        stage.pass(17.5);
        let reply = caller.get("/").await;
        assert_eq!(told(&reply), (200, vec![POLICY], vec![r#""default";r=3;t=43"#]));
        assert!(reply.lines("retry-after").is_empty() && reply.lines("cache-control").is_empty());
    }

    /// A refusal is 429 with Retry-After, `no-store` and the same policy.
    async fn refusals_are_told(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        caller.left().await;
        stage.pass(17.5);
        let reply = caller.get("/").await;
        assert_eq!(told(&reply), (429, vec![POLICY], vec![r#""default";r=0;t=43"#]));
        assert_eq!((reply.line("retry-after"), reply.line("cache-control")), ("43", "no-store"));
        assert_eq!(reply.line("content-length"), reply.body.len().to_string());
    }

    /// Waits are rounded up and are never 0. (abuse 30)
    async fn waits_round_up(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        caller.left().await;
        for (passed, wait) in [(0.25, "60"), (0.75, "59"), (58.0, "1"), (0.5, "1"), (0.25, "1")] {
            stage.pass(passed);
            assert_eq!(caller.get("/").await.line("retry-after"), wait);
        }
    }

    /// Retry-After is never earlier than the wait until there is more, at any time of a window.
    async fn waits_agree(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        caller.left().await;
        for _ in 0..119 {
            stage.pass(0.4999);
            let reply = caller.get("/").await;
            let (_, wait) = reply.line("ratelimit").split_once(";t=").unwrap();
            let after: u64 = reply.line("retry-after").parse().unwrap();
            assert!(reply.status == 429 && after >= wait.parse().unwrap(), "{reply:?}");
        }
    }

    /// `w` is in whole seconds, rounded up, and left out below one.
    async fn windows_are_whole_seconds(stage) {
        let quotas =
            [(999, r#""default";q=5"#), (1_000, r#""default";q=5;w=1"#), (1_500, r#""default";q=5;w=2"#)];
        for (millis, policy) in quotas {
            let server = stage.serve(stage.gate(Quota::new(5, Nanos::from_millis(millis)))).await;
            assert_eq!(server.caller(1).get("/").await.line("ratelimit-policy"), policy);
        }
    }

    /// The policy is the same on every response, and it is called what it was named.
    async fn the_policy_stays(stage) {
        let server = stage.serve(stage.five().policy_name("per visitor")).await;
        let caller = server.caller(1);
        for _ in 0..8 {
            let reply = caller.get("/").await;
            assert_eq!(reply.line("ratelimit-policy"), r#""per visitor";q=5;w=60"#);
            assert!(reply.line("ratelimit").starts_with(r#""per visitor";r="#), "{reply:?}");
            stage.pass(5.0);
        }
    }

    /// Several policies have a member each; a refusal tells of the one that refused.
    async fn each_policy_has_a_member(stage) {
        let further = Policy::new("hour", Quota::per_hour(6));
        let server = stage.serve(stage.five().policy(further)).await;
        let caller = server.caller(1);
        let policies = vec![r#""default";q=5;w=60, "hour";q=6;w=3600"#];
        let first = vec![r#""default";r=4;t=60, "hour";r=5;t=3600"#];
        assert_eq!(told(&caller.get("/").await), (200, policies.clone(), first));
        assert_eq!(caller.left().await, 4);
        stage.pass(60.0);
        assert_eq!(caller.left().await, 1);
        let reply = caller.get("/").await;
        assert_eq!(told(&reply), (429, policies, vec![r#""hour";r=0;t=3540"#]));
        assert_eq!(reply.line("retry-after"), "3540");
        assert_eq!(reply.json()["violated-policies"], serde_json::json!(["hour"]));
    }

    /// Exempt requests carry none of the fields.
    async fn exempt_requests_are_told_nothing(stage) {
        let server = stage.serve(stage.five().legacy_fields(true)).await;
        let caller = server.caller(1);
        for target in ["/", "/internal", "/nowhere", "/status/500"] {
            let reply = caller.send(&Request::get(target).ours()).await;
            assert!(reply.tells_nothing() && reply.lines("cache-control").is_empty(), "{reply:?}");
        }
    }

    /// The legacy fields are there if they are wanted, of the policy of which the least is left.
    async fn legacy_fields(stage) {
        let further = Policy::new("hour", Quota::per_hour(100));
        let server = stage.serve(stage.five().policy(further).legacy_fields(true)).await;
        let caller = server.caller(1);
        let legacy = |reply: &Reply| {
            ["limit", "remaining", "reset"].map(|name| reply.line(&format!("x-ratelimit-{name}")).to_owned())
        };
        let reply = caller.get("/").await;
        assert_eq!(legacy(&reply), ["5", "4", "60"]);
        assert_eq!(reply.line("ratelimit-policy"), r#""default";q=5;w=60, "hour";q=100;w=3600"#);
        caller.left().await;
        stage.pass(20.0);
        let refused = caller.get("/").await;
        assert_eq!((refused.status, legacy(&refused)), (429, ["5", "0", "40"].map(str::to_owned)));
    }

    /// Without the draft's fields a refusal still has Retry-After and `no-store`.
    async fn fields_can_be_left_out(stage) {
        let server = stage.serve(stage.five().rate_limit_fields(false)).await;
        let caller = server.caller(1);
        assert!(caller.get("/").await.tells_nothing());
        caller.left().await;
        let refused = caller.get("/").await;
        assert_eq!((refused.line("retry-after"), refused.line("cache-control")), ("60", "no-store"));
        assert!(refused.lines("ratelimit").is_empty() && refused.lines("ratelimit-policy").is_empty());
    }

    /// The application's errors and empty responses carry the fields as well.
    async fn whatever_is_answered_is_told(stage) {
        let server = stage.serve(stage.gate(Quota::per_minute(20))).await;
        let mut connection = server.caller(1).connect().await;
        for (remaining, status) in
            [204, 304, 400, 404, 418, 500, 503].into_iter().zip((13..20).rev()).map(swap)
        {
            let reply = connection.send(&Request::get(format!("/status/{status}"))).await;
            assert_eq!((reply.status, reply.body.len()), (status, 0));
            assert_eq!(reply.line("ratelimit"), format!("\"default\";r={remaining};t=60"));
        }
    }

    /// HEAD has the fields of GET and no body, admitted or refused, and the connection stays in step.
    async fn head_has_no_body(stage) {
        let server = stage.serve_five().await;
        let mut connection = server.caller(1).connect().await;
        for remaining in (0..5).rev() {
            let reply = connection.send(&Request::head("/")).await;
            assert_eq!(reply.line("ratelimit"), format!("\"default\";r={remaining};t=60"));
        }
        let refused = connection.send(&Request::head("/")).await;
        let by_get = connection.send(&Request::get("/")).await;
        assert_eq!(told(&refused), told(&by_get));
        for name in ["retry-after", "cache-control", "content-type", "content-length"] {
            assert_eq!(refused.lines(name), by_get.lines(name), "{name}");
        }
        assert!(connection.is_silent());
    }

    /// HTTP/2 has the same fields, and HEAD no body there either.
    async fn fields_of_http2(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let second = caller.http2().await;
        let admitted = second.send(&Request::get("/")).await;
        assert_eq!(told(&admitted), (200, vec![POLICY], vec![r#""default";r=4;t=60"#]));
        caller.left().await;
        for request in [Request::get("/"), Request::head("/")] {
            let (first, second) = (caller.send(&request).await, second.send(&request).await);
            assert_eq!((told(&first), &first.body), (told(&second), &second.body));
            assert_eq!(first.lines("content-length"), second.lines("content-length"));
            assert_eq!((second.line("retry-after"), second.line("cache-control")), ("60", "no-store"));
        }
    }
}

fn swap<A, B>((one, other): (A, B)) -> (B, A) {
    (other, one)
}
