//! Limiters around limiters, and applications that speak for themselves.

use std::sync::Arc;

use tollgate_http::{Mode, Quota};

use crate::app::App;
use crate::case::cases;
use crate::request::Request;
use crate::stage::Stage;

/// Five a minute inside, and so many an hour outside.
fn nested(stage: &Stage, outer: u32) -> App {
    let outer = stage.gate(Quota::per_hour(outer)).policy_name("outer").build().unwrap();
    App { outer: Some(outer.into()), ..stage.five().policy_name("inner").into() }
}

cases! {
    /// What the application says itself is added to or left alone.
    async fn the_applications_own_fields_stay(stage) {
        let server = stage.serve(stage.five().legacy_fields(true)).await;
        let reply = server.caller(1).get("/fields").await;
        assert_eq!(reply.lines("ratelimit-policy"), [r#""own";q=1"#, r#""default";q=5;w=60"#]);
        assert_eq!(reply.lines("ratelimit"), [r#""own";r=1"#, r#""default";r=4;t=60"#]);
        assert_eq!((reply.line("retry-after"), reply.line("cache-control")), ("7", "max-age=60"));
        assert_eq!(reply.line("x-ratelimit-limit"), "1");
        assert_eq!(reply.line("x-ratelimit-remaining"), "4");
    }

    /// An exempt response keeps what the application says, and nothing else.
    async fn the_applications_own_fields_alone(stage) {
        let server = stage.serve_five().await;
        let reply = server.caller(1).send(&Request::get("/fields").ours()).await;
        assert_eq!(
            (reply.line("ratelimit-policy"), reply.line("ratelimit")),
            (r#""own";q=1"#, r#""own";r=1"#)
        );
    }

    /// Nested limiters append their fields in order: the application's, the inner one's, the outer one's.
    async fn nested_fields_in_order(stage) {
        let server = stage.serve(nested(&stage, 9)).await;
        let reply = server.caller(1).get("/fields").await;
        let policies = [r#""own";q=1"#, r#""inner";q=5;w=60"#, r#""outer";q=9;w=3600"#];
        assert_eq!(reply.lines("ratelimit-policy"), policies);
        assert_eq!(
            reply.lines("ratelimit"),
            [r#""own";r=1"#, r#""inner";r=4;t=60"#, r#""outer";r=8;t=3600"#]
        );
    }

    /// What the inner limiter refuses, the outer one has counted and tells of.
    async fn the_inner_refusal_passes_the_outer(stage) {
        let server = stage.serve(nested(&stage, 9)).await;
        let caller = server.caller(1);
        assert_eq!(caller.statuses("/", 5).await, [200; 5]);
        let reply = caller.get("/").await;
        assert_eq!(reply.lines("ratelimit"), [r#""inner";r=0;t=60"#, r#""outer";r=3;t=3600"#]);
        assert_eq!((reply.status, reply.line("retry-after")), (429, "60"));
        assert_eq!(reply.json()["violated-policies"], serde_json::json!(["inner"]));
    }

    /// What the inner limiter refuses, the outer one gives back, if it is to. (abuse 34)
    async fn inner_refusals_are_given_back(stage) {
        let outer =
            stage.gate(Quota::per_hour(9)).policy_name("outer").refund_inner_refusals().build().unwrap();
        let server = stage.serve(App { outer: Some(outer.into()), ..nested(&stage, 9) }).await;
        let caller = server.caller(1);
        assert_eq!(caller.statuses("/", 5).await, [200; 5]);
        assert_eq!(caller.statuses("/", 9).await, [429; 9]);
        let reply = caller.get("/").await;
        assert_eq!(reply.lines("ratelimit"), [r#""inner";r=0;t=60"#, r#""outer";r=4;t=3600"#]);
        stage.pass(60.0);
        assert_eq!(caller.left().await, 4);
    }

    /// What the outer limiter refuses, the inner one has not seen.
    async fn the_outer_refusal_is_its_own(stage) {
        let server = stage.serve(nested(&stage, 3)).await;
        let caller = server.caller(1);
        assert_eq!(caller.statuses("/", 5).await, [200, 200, 200, 429, 429]);
        let reply = caller.get("/").await;
        assert_eq!(reply.lines("ratelimit-policy"), [r#""outer";q=3;w=3600"#]);
        assert_eq!(
            (reply.lines("ratelimit"), reply.line("retry-after")),
            (vec![r#""outer";r=0;t=3600"#], "3600")
        );
        stage.pass(3_600.0);
        assert_eq!(caller.get("/").await.lines("ratelimit").first(), Some(&r#""inner";r=4;t=60"#));
    }

    /// A service is exempt from both, and consumes of neither.
    async fn services_pass_both(stage) {
        let server = stage.serve(nested(&stage, 9)).await;
        let caller = server.caller(1);
        let request = Request::get("/").ours();
        assert_eq!(caller.repeat(&request, 20).await, [200; 20]);
        assert!(caller.send(&request).await.tells_nothing());
        assert_eq!(
            caller.get("/").await.lines("ratelimit"),
            [r#""inner";r=4;t=60"#, r#""outer";r=8;t=3600"#]
        );
    }

    /// A credential that the outer limiter has taken is known to the inner one and to the guards of both.
    async fn inner_limiters_know_what_was_taken(stage) {
        let outer = stage.gate(Quota::per_hour(99)).policy_name("outer").strip_credential().build().unwrap();
        let outer = Arc::new(outer);
        for inner in [stage.five(), stage.five().strip_credential()] {
            let app = App { outer: Some(Arc::clone(&outer)), ..inner.policy_name("inner").into() };
            for guard in [&app.gate, &outer].map(Arc::clone) {
                let server = stage.serve(App { guard, ..app.clone() }).await;
                for (target, status) in [("/internal", 401), ("/internal/name", 401), ("/", 200)] {
                    assert_eq!(server.caller(1).repeat(&Request::get(target).ours(), 20).await, [200; 20]);
                    let forged = server.caller(2).send(&Request::get(target).token("made up")).await;
                    assert_eq!((forged.status, forged.lines("ratelimit").len()), (status, 2), "{forged:?}");
                }
                let told = server.caller(1).send(&Request::get("/decision").ours()).await.json();
                assert_eq!((&told["credential"], &told["service"]), (&false.into(), &"edge".into()));
                stage.pass(60.0);
            }
        }
    }

    /// Two credentials do not become one when they are taken. (abuse 7)
    async fn two_taken_lines_stay_two(stage) {
        let outer = stage.gate(Quota::per_hour(99)).policy_name("outer").strip_credential().build().unwrap();
        let app = App { outer: Some(outer.into()), ..stage.five().policy_name("inner").into() };
        let server = stage.serve(app).await;
        let twice = Request::get("/internal").ours().token("made up");
        assert_eq!(server.caller(1).repeat(&twice, 6).await, [401, 401, 401, 401, 401, 429]);
    }

    /// One of two may be tried out in shadow mode while the other enforces.
    async fn one_of_two_in_shadow_mode(stage) {
        let app = nested(&stage, 9);
        app.gate.set_mode(Mode::Shadow);
        let server = stage.serve(app).await;
        let caller = server.caller(1);
        assert_eq!(caller.statuses("/", 8).await, [200; 8]);
        let reply = caller.get("/").await;
        assert_eq!(reply.lines("ratelimit"), [r#""inner";r=0;t=60"#, r#""outer";r=0;t=3600"#]);
        assert_eq!(caller.get("/").await.status, 429);
    }
}
