//! Requests on other terms than the ordinary ones.

use tokio::task::JoinSet;
use tollgate_http::{Policy, Quota};

use crate::app::App;
use crate::case::cases;
use crate::request::Request;
use crate::rule::Rule;
use crate::stage::Stage;

fn by_fields(stage: &Stage) -> App {
    let everyone = Policy::new("everyone", Quota::per_minute(500)).for_everyone();
    let gate = stage.five().policy(everyone).in_flight(2).class("paid", Quota::per_minute(20));
    App { rule: Some(Rule::ByFields), ..gate.into() }
}

/// What the other policies of that gate say.
const FURTHER: &str = r#""everyone";q=500;w=60, "in-flight";q=2;qu="concurrent-requests""#;

fn with(name: &str, value: &str) -> Request {
    Request::get("/").field(name, value)
}

cases! {
    /// Skipping bypasses all limits, consumes nothing and tells nothing.
    async fn skipped_requests_pass(stage) {
        let server = stage.serve(by_fields(&stage)).await;
        let caller = server.caller(1);
        caller.left().await;
        let skipped = with("x-skip", "1");
        assert_eq!(caller.repeat(&skipped, 600).await, [200; 600]);
        assert!(caller.send(&skipped).await.tells_nothing());
        assert_eq!(server.caller(2).left().await, 5, "and all together still have some");
    }

    /// A skipped request of a stranger is still a stranger's.
    async fn skipped_requests_open_nothing(stage) {
        let server = stage.serve(by_fields(&stage)).await;
        let skipped = Request::get("/internal").field("x-skip", "1");
        assert_eq!(server.caller(1).send(&skipped).await.status, 401);
        assert_eq!(server.caller(1).send(&skipped.ours()).await.status, 200);
    }

    /// A request that costs n counts as n; one that costs nothing always passes. (abuse 19)
    async fn costs(stage) {
        let server = stage.serve(by_fields(&stage)).await;
        let caller = server.caller(1);
        let reply = caller.send(&with("x-cost", "3")).await;
        assert_eq!(reply.line("ratelimit"), r#""default";r=2;t=60"#);
        assert_eq!(caller.send(&with("x-cost", "3")).await.status, 429);
        assert_eq!(caller.send(&with("x-cost", "2")).await.status, 200);
        assert_eq!(caller.repeat(&with("x-cost", "0"), 9).await, [200; 9]);
        assert_eq!(caller.left().await, 0);
    }

    /// A user has one budget from wherever it calls, and users of one address have one each.
    async fn callers_by_name(stage) {
        let server = stage.serve(by_fields(&stage)).await;
        let user = |name| with("x-caller", name);
        assert_eq!(server.caller(1).repeat(&user("one"), 3).await, [200; 3]);
        assert_eq!(server.caller(2).repeat(&user("one"), 3).await, [200, 200, 429]);
        assert_eq!(server.caller(2).repeat(&user("two"), 6).await, [200, 200, 200, 200, 200, 429]);
        assert_eq!(server.caller(2).left().await, 5);
    }

    /// Classes have quotas of their own, which responses name; a class that there is not changes nothing.
    async fn classes(stage) {
        let server = stage.serve(by_fields(&stage)).await;
        let caller = server.caller(1);
        let reply = caller.send(&with("x-class", "paid")).await;
        assert_eq!(reply.line("ratelimit-policy"), format!("\"paid\";q=20;w=60, {FURTHER}"));
        assert_eq!(reply.line("ratelimit"), r#""paid";r=19;t=60"#);
        assert_eq!(
            caller.repeat(&with("x-class", "paid"), 20).await.iter().filter(|status| **status == 200).count(),
            19
        );
        let refused = caller.send(&with("x-class", "paid")).await;
        assert_eq!(refused.json()["violated-policies"], serde_json::json!(["paid"]));
        assert!(refused.text().contains("The limit of 20 requests"), "{refused:?}");
        assert_eq!(caller.send(&with("x-class", "gold")).await.line("ratelimit"), r#""default";r=4;t=60"#);
    }

    /// Scopes have budgets of their own, for each caller.
    async fn scopes(stage) {
        let server = stage.serve(by_fields(&stage)).await;
        for host in 1..=2 {
            let caller = server.caller(host);
            for scope in ["a", "b"] {
                assert_eq!(caller.repeat(&with("x-scope", scope), 6).await, [200, 200, 200, 200, 200, 429]);
            }
            assert_eq!(caller.left().await, 5);
        }
    }

    /// What is under way, and what a further policy counts, is the caller's in all scopes.
    async fn scopes_share_the_rest(stage) {
        let hour = Policy::new("hour", Quota::per_hour(7));
        let gate = stage.five().policy(hour).in_flight(1);
        let server = stage.serve(App { rule: Some(Rule::ByFields), ..gate.into() }).await;
        let (caller, scene) = (server.caller(1), &server.app.scene);
        let mut under_way = JoinSet::new();
        let slow = Request::get("/slow").field("x-scope", "a");
        under_way.spawn(async move { caller.send(&slow).await.status });
        scene.all_arrive(1, &mut under_way).await;
        let refused = caller.send(&with("x-scope", "b")).await;
        assert_eq!(refused.json()["violated-policies"], serde_json::json!(["in-flight"]));
        scene.let_go(1);
        assert_eq!(under_way.join_all().await, [200]);
        assert_eq!(caller.repeat(&with("x-scope", "b"), 5).await, [200; 5]);
        assert_eq!(caller.left().await, 1, "the hour has paid for six");
    }

    /// A scope and a caller that join to the same text are not the same. (abuse 22)
    async fn compound_keys_are_apart(stage) {
        let server = stage.serve(by_fields(&stage)).await;
        for (scope, caller) in [("ab", "c"), ("a", "bc"), ("", "abc"), ("abc", "")] {
            let request = with("x-scope", scope).field("x-caller", caller);
            assert_eq!(
                server.caller(1).repeat(&request, 6).await,
                [200, 200, 200, 200, 200, 429],
                "{scope} {caller}"
            );
        }
    }

    /// Budgets of routes go by the route that is matched, not by how its path is spelled. (abuse 18)
    async fn spellings_share_a_route(stage) {
        let server = stage.serve(App { rule: Some(Rule::ByRoute), ..stage.five().into() }).await;
        let caller = server.caller(1);
        let spellings =
            ["/users/1", "/users/2", "/users/%31", "/users/1?a=1", "/users/a%2Fb", "/users/%E2%82%AC"];
        let mut statuses = Vec::new();
        for target in spellings {
            statuses.push(caller.get(target).await.status);
        }
        assert_eq!(statuses, [200, 200, 200, 200, 200, 429]);
        assert_eq!(caller.get("http://tollgate.test/users/3").await.status, 429);
        assert_eq!((caller.left().await, caller.get("/status/204").await.status), (5, 204));
    }

    /// Paths that no route matches share one budget. (abuse 18)
    async fn unmatched_paths_share(stage) {
        let server = stage.serve(App { rule: Some(Rule::ByRoute), ..stage.five().into() }).await;
        let mut connection = server.caller(1).connect().await;
        let mut statuses = Vec::new();
        for number in 0..7 {
            statuses.push(connection.send(&Request::get(format!("/nowhere/{number}"))).await.status);
        }
        assert_eq!(statuses, [404, 404, 404, 404, 404, 429, 429]);
        assert_eq!(server.caller(1).left().await, 5);
    }

    /// Methods can have budgets of their own.
    async fn methods_by_rule(stage) {
        let server = stage.serve(App { rule: Some(Rule::ByMethod), ..stage.five().into() }).await;
        let caller = server.caller(1);
        assert_eq!(caller.left().await, 5);
        assert_eq!(caller.repeat(&Request::new("POST", "/"), 6).await, [200, 200, 200, 200, 200, 429]);
    }
}
