//! What is changed while the server runs.

use tollgate_http::{Mode, Quota};

use crate::app::App;
use crate::case::cases;
use crate::request::Request;
use crate::rule::Rule;

cases! {
    /// Shadow mode counts and tells, and refuses nobody.
    async fn shadow_mode(stage) {
        let server = stage.serve(stage.five().mode(Mode::Shadow)).await;
        let caller = server.caller(1);
        assert_eq!(caller.statuses("/", 19).await, [200; 19]);
        let reply = caller.get("/").await;
        assert_eq!((reply.text(), reply.line("ratelimit")), ("hello", r#""default";r=0;t=60"#));
        assert_eq!(reply.line("ratelimit-policy"), r#""default";q=5;w=60"#);
        assert!(reply.lines("retry-after").is_empty() && reply.lines("cache-control").is_empty());
    }

    /// Off mode neither counts nor tells.
    async fn off_mode(stage) {
        let server = stage.serve(stage.five().mode(Mode::Off)).await;
        let caller = server.caller(1);
        assert_eq!(caller.statuses("/", 19).await, [200; 19]);
        assert!(caller.get("/").await.tells_nothing());
        assert!(caller.get("/nowhere").await.tells_nothing());
    }

    /// Modes change from the next request on, also on a connection that is kept, and counts stay.
    async fn modes_change(stage) {
        let server = stage.serve_five().await;
        let mut connection = server.caller(1).connect().await;
        let steps = [
            (Mode::Enforce, [200, 200, 200, 200]),
            (Mode::Off, [200, 200, 200, 200]),
            (Mode::Enforce, [200, 429, 429, 429]),
            (Mode::Shadow, [200, 200, 200, 200]),
            (Mode::Enforce, [429, 429, 429, 429]),
        ];
        for (mode, expected) in steps {
            server.app.gate.set_mode(mode);
            for status in expected {
                assert_eq!(connection.send(&Request::get("/")).await.status, status, "{mode:?}");
            }
        }
    }

    /// Another quota applies to the next request, and responses say so; counts stay.
    async fn quotas_change(stage) {
        let server = stage.serve_five().await;
        let mut connection = server.caller(1).connect().await;
        for _ in 0..4 {
            connection.send(&Request::get("/")).await;
        }
        server.app.gate.set_quota("default", Quota::per_minute(7)).unwrap();
        let reply = connection.send(&Request::get("/")).await;
        assert_eq!(reply.line("ratelimit-policy"), r#""default";q=7;w=60"#);
        assert_eq!(reply.line("ratelimit"), r#""default";r=2;t=60"#);
        server.app.gate.set_quota("default", Quota::per_minute(4)).unwrap();
        let reply = connection.send(&Request::get("/")).await;
        assert_eq!((reply.status, reply.line("ratelimit-policy")), (429, r#""default";q=4;w=60"#));
        assert!(reply.text().contains("The limit of 4 requests"), "{reply:?}");
        assert_eq!(server.caller(2).left().await, 4);
    }

    /// Another quota of a class applies to the next request.
    async fn class_quotas_change(stage) {
        let gate = stage.five().class("paid", Quota::per_minute(20));
        let server = stage.serve(App { rule: Some(Rule::ByFields), ..gate.into() }).await;
        let paid = Request::get("/").field("x-class", "paid");
        server.app.gate.set_quota("paid", Quota::per_minute(30)).unwrap();
        let reply = server.caller(1).send(&paid).await;
        assert_eq!(reply.line("ratelimit"), r#""paid";r=29;t=60"#);
        assert_eq!(server.caller(1).get("/").await.line("ratelimit-policy"), r#""default";q=5;w=60"#);
    }

    /// A quota that can't be enforced with the counts that there are changes nothing.
    async fn impossible_changes(stage) {
        let server = stage.serve_five().await;
        assert!(server.app.gate.set_quota("default", Quota::per_minute(5_000)).is_err());
        assert!(server.app.gate.set_quota("nobody", Quota::per_minute(5)).is_err());
        assert_eq!(server.caller(1).get("/").await.line("ratelimit-policy"), r#""default";q=5;w=60"#);
        assert_eq!(server.caller(1).left().await, 4);
    }
}
