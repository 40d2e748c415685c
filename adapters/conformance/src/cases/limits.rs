//! Limits beside the first one: several at once, requests under way, time outs.

use std::time::Duration;

use tokio::task::JoinSet;
use tollgate_http::{Mode, Policy, Quota};

use crate::case::cases;
use crate::request::Request;
use crate::stage::Caller;

async fn slow(caller: Caller) -> u16 {
    caller.get("/slow").await.status
}

cases! {
    /// Of several limits a refused request is charged nowhere. (abuse 34)
    async fn all_or_nothing(stage) {
        let hour = Policy::new("hour", Quota::per_hour(8));
        let server = stage.serve(stage.five().policy(hour)).await;
        let caller = server.caller(1);
        assert_eq!(caller.left().await, 5);
        assert_eq!(caller.statuses("/", 50).await, [429; 50]);
        stage.pass(60.0);
        assert_eq!(caller.left().await, 3, "the hour has paid for five");
    }

    /// A caller over its own limit uses up nothing of what is everyone's. (abuse 25)
    async fn everyones_budget(stage) {
        let everyone = Policy::new("everyone", Quota::per_minute(12)).for_everyone();
        let server = stage.serve(stage.five().policy(everyone)).await;
        assert_eq!(
            server.caller(1).statuses("/", 100).await.iter().filter(|status| **status == 200).count(),
            5
        );
        assert_eq!(server.caller(2).left().await, 5);
        assert_eq!(server.caller(3).left().await, 2);
        let refused = server.caller(4).get("/").await;
        assert_eq!(refused.json()["violated-policies"], serde_json::json!(["everyone"]));
        assert_eq!(server.caller(4).send(&Request::get("/").ours()).await.status, 200);
    }

    /// A caller is told what remains of its own budgets alone, and of others no more than that they are there. (abuse 25)
    async fn shared_budgets_are_not_told(stage) {
        let network = Policy::new("network", Quota::per_minute(100)).v4_prefix(24);
        let everyone = Policy::new("everyone", Quota::per_minute(200)).for_everyone();
        let server = stage.serve(stage.five().policy(network).policy(everyone)).await;
        for host in 1..=3 {
            let reply = server.caller(host).get("/").await;
            let policies = r#""default";q=5;w=60, "network";q=100;w=60, "everyone";q=200;w=60"#;
            assert_eq!(reply.line("ratelimit-policy"), policies);
            assert_eq!(reply.line("ratelimit"), r#""default";r=4;t=60"#);
        }
    }

    /// Nobody is out for what others have used up.
    async fn no_penalty_for_others(stage) {
        let everyone = Policy::new("everyone", Quota::per_minute(5)).for_everyone();
        let gate = stage.five().policy(everyone).penalty(2, Duration::from_mins(2), Duration::from_mins(10));
        let server = stage.serve(gate).await;
        assert_eq!(server.caller(1).statuses("/", 5).await, [200; 5]);
        assert_eq!(server.caller(2).statuses("/", 9).await, [429; 9]);
        stage.pass(60.0);
        assert_eq!(server.caller(2).get("/").await.status, 200);
    }

    /// So many of a caller's requests may be under way; one more is refused, charged nothing, and told of it.
    async fn requests_under_way(stage) {
        let server = stage.serve(stage.five().in_flight(2)).await;
        let (caller, scene) = (server.caller(1), &server.app.scene);
        let mut under_way = JoinSet::new();
        under_way.spawn(slow(caller));
        under_way.spawn(slow(caller));
        scene.all_arrive(2, &mut under_way).await;
        let refused = caller.get("/").await;
        assert_eq!(
            refused.line("ratelimit-policy"),
            r#""default";q=5;w=60, "in-flight";q=2;qu="concurrent-requests""#
        );
        assert_eq!((refused.status, refused.line("ratelimit")), (429, r#""in-flight";r=0;t=1"#));
        assert_eq!(refused.json()["violated-policies"], serde_json::json!(["in-flight"]));
        assert_eq!(server.caller(2).get("/").await.status, 200, "others have room");
        scene.let_go(2);
        assert_eq!(under_way.join_all().await, [200; 2]);
        assert_eq!(caller.left().await, 3, "only what was admitted is charged");
    }

    /// Each response makes room for the next request, by HTTP/2 as well.
    async fn streams_under_way(stage) {
        let server = stage.serve(stage.gate(Quota::per_minute(100)).in_flight(3)).await;
        let scene = &server.app.scene;
        let connection = server.caller(1).http2().await;
        for _ in 0..4 {
            let mut streams = JoinSet::new();
            for _ in 0..3 {
                let connection = connection.clone();
                streams.spawn(async move { connection.send(&Request::get("/slow")).await.status });
            }
            scene.all_arrive(3, &mut streams).await;
            assert_eq!(connection.send(&Request::get("/")).await.status, 429);
            scene.let_go(3);
            assert_eq!(streams.join_all().await, [200; 3]);
        }
        assert_eq!(server.caller(1).left().await, 88);
    }

    /// Services have as many under way as they like.
    async fn services_under_way(stage) {
        let server = stage.serve(stage.five().in_flight(1)).await;
        let (caller, scene) = (server.caller(1), &server.app.scene);
        let mut under_way = JoinSet::new();
        for _ in 0..10 {
            under_way.spawn(async move { caller.send(&Request::get("/slow").ours()).await.status });
        }
        scene.all_arrive(10, &mut under_way).await;
        assert_eq!(caller.get("/").await.status, 200, "they take nobody's room");
        scene.let_go(10);
        assert_eq!(under_way.join_all().await, [200; 10]);
    }

    /// What is refused for another reason leaves no request under way.
    async fn refusals_are_not_under_way(stage) {
        let server = stage.serve(stage.five().in_flight(1)).await;
        let caller = server.caller(1);
        caller.left().await;
        assert_eq!(caller.statuses("/", 20).await, [429; 20]);
        assert_eq!(caller.get("/").await.line("ratelimit"), r#""default";r=0;t=60"#);
        stage.pass(60.0);
        assert_eq!(caller.left().await, 5);
    }

    /// In shadow mode nobody is refused for what is under way.
    async fn shadow_requests_under_way(stage) {
        let server = stage.serve(stage.five().in_flight(1).mode(Mode::Shadow)).await;
        let (caller, scene) = (server.caller(1), &server.app.scene);
        let mut under_way = JoinSet::new();
        for _ in 0..3 {
            under_way.spawn(slow(caller));
        }
        scene.all_arrive(3, &mut under_way).await;
        let told = caller.get("/decision").await;
        assert_eq!((told.status, &told.json()["over"]), (200, &true.into()));
        scene.let_go(3);
        assert_eq!(under_way.join_all().await, [200; 3]);
        assert_eq!(caller.get("/decision").await.json()["over"], false);
    }

    /// Whoever is refused too often is out for longer, and in again afterwards.
    async fn penalties(stage) {
        let gate = stage.five().penalty(3, Duration::from_mins(2), Duration::from_mins(10));
        let server = stage.serve(gate).await;
        let caller = server.caller(1);
        caller.left().await;
        assert_eq!(caller.get("/").await.line("retry-after"), "60", "the second strike");
        let out = caller.get("/").await;
        assert_eq!((out.status, out.line("retry-after")), (429, "600"));
        assert_eq!(out.line("ratelimit-policy"), r#""default";q=5;w=60"#);
        stage.pass(599.0);
        let out = caller.get("/").await;
        assert_eq!((out.status, out.line("retry-after")), (429, "1"));
        assert!(out.text().contains("Too many requests were refused"), "{out:?}");
        assert_eq!(server.caller(2).left().await, 5);
        assert_eq!(caller.send(&Request::get("/").ours()).await.status, 200);
        stage.pass(1.0);
        assert_eq!(caller.left().await, 5);
    }

    /// Whoever waits as told collects no strikes.
    async fn patience_is_no_strike(stage) {
        let server =
            stage.serve(stage.five().penalty(3, Duration::from_mins(10), Duration::from_mins(10))).await;
        let caller = server.caller(1);
        for _ in 0..8 {
            assert_eq!(caller.statuses("/", 5).await, [200; 5]);
            stage.pass(60.0);
        }
    }

    /// The legacy limit of a caller that is out is the quota's, as its policy says.
    async fn penalties_in_legacy_fields(stage) {
        let gate =
            stage.five().legacy_fields(true).penalty(2, Duration::from_mins(2), Duration::from_mins(10));
        let server = stage.serve(gate).await;
        let caller = server.caller(1);
        caller.left().await;
        for _ in 0..2 {
            let out = caller.get("/").await;
            let legacy = ["limit", "remaining", "reset"].map(|name| format!("x-ratelimit-{name}"));
            assert_eq!(legacy.each_ref().map(|name| out.line(name)), ["5", "0", "600"]);
        }
    }
}
