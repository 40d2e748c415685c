//! Who shares a budget, and when it is there again.

use tollgate_http::{Nanos, Overflow, Quota, Source};

use crate::app::App;
use crate::case::cases;
use crate::request::Request;

cases! {
    /// New connections and kept ones share their caller's budget.
    async fn connections_share(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let mut kept = caller.connect().await;
        for remaining in [4, 2] {
            let limit = |remaining| format!("\"default\";r={remaining};t=60");
            assert_eq!(kept.send(&Request::get("/")).await.line("ratelimit"), limit(remaining));
            assert_eq!(caller.get("/").await.line("ratelimit"), limit(remaining - 1));
        }
        assert_eq!(caller.statuses("/", 2).await, [200, 429]);
        assert_eq!(kept.send(&Request::get("/")).await.status, 429);
    }

    /// Each address has a budget of its own.
    async fn callers_are_apart(stage) {
        let server = stage.serve_five().await;
        for host in 1..=20 {
            assert_eq!(server.caller(host).left().await, 5);
        }
        assert_eq!(server.caller(1).left().await, 0);
    }

    /// A reset belongs to each caller: a window begins with its own first request.
    async fn resets_are_each_callers(stage) {
        let server = stage.serve_five().await;
        let (early, late) = (server.caller(1), server.caller(2));
        assert_eq!(early.left().await, 5);
        stage.pass(30.0);
        assert_eq!(late.left().await, 5);
        stage.pass(30.0);
        assert_eq!((early.left().await, late.left().await), (5, 0));
        stage.pass(30.0);
        assert_eq!((early.left().await, late.left().await), (0, 5));
    }

    /// Whoever waits as told is admitted; a second earlier it is not.
    async fn waiting_as_told_helps(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        assert_eq!(caller.left().await, 5);
        stage.pass(13.25);
        let wait: f64 = caller.get("/").await.line("retry-after").parse().unwrap();
        stage.pass(wait - 1.0);
        assert_eq!(caller.get("/").await.status, 429);
        stage.pass(1.0);
        assert_eq!(caller.left().await, 5);
    }

    /// Being refused costs nothing: whoever keeps calling has its window when it is due.
    async fn refusals_cost_nothing(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        assert_eq!(caller.left().await, 5);
        for _ in 0..59 {
            stage.pass(1.0);
            assert_eq!(caller.statuses("/", 3).await, [429; 3]);
        }
        stage.pass(1.0);
        assert_eq!(caller.left().await, 5);
    }

    /// Methods, paths and queries share one budget, routes that nobody has included.
    async fn whatever_is_asked_counts(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        assert_eq!(caller.get("/?a=1").await.status, 200);
        assert_eq!(caller.get("/nowhere").await.status, 404);
        assert_eq!(caller.send(&Request::post("/", "x")).await.status, 200);
        assert_eq!(caller.send(&Request::new("OPTIONS", "/users/7")).await.status, 200);
        assert_eq!(caller.send(&Request::new("DELETE", "/status/204")).await.status, 204);
        for request in [Request::get("/nowhere"), Request::new("PUT", "/"), Request::head("/users/7")] {
            assert_eq!(caller.send(&request).await.status, 429);
        }
    }

    /// Two servers behind one gate share its budgets. (abuse 33)
    async fn servers_share_a_gate(stage) {
        let first = stage.serve_five().await;
        let second = stage.serve(App::new(first.app.gate.clone())).await;
        let (one, other) = (first.caller(1), second.caller(1));
        assert_eq!(
            (one.statuses("/", 3).await, other.statuses("/", 3).await),
            (vec![200; 3], vec![200, 200, 429])
        );
        assert_eq!(one.get("/").await.status, 429);
    }

    /// An even rate lets a burst pass and then one at a time.
    async fn an_even_rate(stage) {
        let server = stage.serve(stage.gate(Quota::per_minute(60).burst(5))).await;
        let caller = server.caller(1);
        assert_eq!(caller.left().await, 5);
        stage.pass(1.0);
        assert_eq!(caller.left().await, 1);
        stage.pass(3.0);
        assert_eq!(caller.left().await, 3);
        assert_eq!(caller.get("/").await.line("retry-after"), "1");
    }

    /// A sliding window gives no second budget at its edge.
    async fn a_sliding_window(stage) {
        let server = stage.serve(stage.gate(Quota::per_minute(60).sliding())).await;
        let caller = server.caller(1);
        stage.pass(59.0);
        assert_eq!(caller.left().await, 60);
        stage.pass(2.0);
        assert!(caller.left().await <= 2);
        stage.pass(120.0);
        assert_eq!(caller.left().await, 60);
    }

    /// Windows below a second are kept, too.
    async fn short_windows(stage) {
        let server = stage.serve(stage.gate(Quota::new(2, Nanos::from_millis(100)))).await;
        let caller = server.caller(1);
        assert_eq!(caller.left().await, 2);
        stage.pass(0.05);
        assert_eq!(caller.left().await, 0);
        stage.pass(0.05);
        assert_eq!(caller.left().await, 2);
    }

    /// A clock that jumps locks nobody out for more than a window, whichever way it jumps. (abuse 16, 17)
    async fn clock_steps(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let hours = |count: u64| Nanos::from_secs(count * 3_600);
        for (now, most) in [(hours(0), 5), (hours(9), 5), (hours(1), 5), (hours(17), 5), (hours(0), 5)] {
            stage.clock.set(now);
            assert!(caller.left().await <= most);
            stage.pass(61.0);
            assert_eq!(caller.left().await, 5);
        }
        stage.clock.set(Nanos::MAX);
        assert!(matches!(caller.get("/").await.status, 200 | 429));
    }

    /// A caller at its limit can't flush its count by spraying addresses. (abuse 14)
    async fn spraying_flushes_nothing(stage) {
        let gate = stage.five().capacity(16).source(Source::XForwardedFor).trust_network("127.0.0.0/8");
        let server = stage.serve(gate).await;
        let mut connection = server.caller(1).connect().await;
        let victim = Request::get("/").forwarded_for("198.51.100.1");
        for _ in 0..5 {
            assert_eq!(connection.send(&victim).await.status, 200);
        }
        for number in 0..2_000_u32 {
            let [_, _, high, low] = number.to_be_bytes();
            connection.send(&Request::get("/").forwarded_for(format!("203.0.{high}.{low}"))).await;
        }
        assert_eq!(connection.send(&victim).await.status, 429);
    }

    /// A table without room refuses newcomers, if it is told to, and nobody who is in it.
    async fn a_full_table_refuses_newcomers(stage) {
        let gate = stage.five().capacity(8).overflow(Overflow::Refuse);
        let server = stage.serve(gate.source(Source::XForwardedFor).trust_network("127.0.0.0/8")).await;
        let mut connection = server.caller(1).connect().await;
        let mut refused = None;
        for number in 0..=255_u8 {
            let request = Request::get("/").forwarded_for(format!("203.0.113.{number}"));
            let reply = connection.send(&request).await;
            if reply.status == 429 {
                refused = Some(reply);
            }
        }
        let refused = refused.expect("255 callers have no room in a table for 8");
        assert!(refused.text().contains("New callers can't be counted"), "{refused:?}");
        let known = Request::get("/").forwarded_for("203.0.113.0");
        assert_eq!(connection.send(&known).await.line("ratelimit"), r#""default";r=3;t=60"#);
    }
}
