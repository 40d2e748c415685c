//! Charging by what becomes of a request.

use tokio::task::JoinSet;
use tollgate_http::{Policy, Quota};

use crate::case::cases;
use crate::request::Request;
use crate::stage::Server;

/// As many requests as a caller may send, which the application has and has not answered.
async fn five_under_way(server: &Server) -> JoinSet<u16> {
    let caller = server.caller(1);
    let mut under_way = JoinSet::new();
    for _ in 0..5 {
        under_way.spawn(async move { caller.get("/slow").await.status });
    }
    server.app.scene.all_arrive(5, &mut under_way).await;
    under_way
}

cases! {
    /// Only failures are charged, where only they are to be: a login.
    async fn failures_alone_are_charged(stage) {
        let server = stage.serve(stage.five().charge_if(|status| status == 401)).await;
        let caller = server.caller(1);
        assert_eq!(caller.statuses("/", 50).await, [200; 50]);
        assert_eq!(caller.statuses("/internal", 6).await, [401, 401, 401, 401, 401, 429]);
        assert_eq!(caller.get("/").await.status, 429);
    }

    /// What is given back is told as such.
    async fn what_is_given_back_is_told(stage) {
        let hour = Policy::new("hour", Quota::per_hour(8));
        let server = stage.serve(stage.five().policy(hour).charge_if(|status| status < 500)).await;
        let caller = server.caller(1);
        for _ in 0..20 {
            let reply = caller.get("/status/503").await;
            assert_eq!((reply.status, reply.line("ratelimit")), (503, r#""default";r=5, "hour";r=8"#));
        }
        assert!(caller.get("/status/404").await.line("ratelimit").starts_with(r#""default";r=4;"#));
        assert_eq!(caller.left().await, 4);
    }

    /// A request is charged while it is under way, so no number at once exceeds the limit.
    async fn charges_are_made_first(stage) {
        let server = stage.serve(stage.five().charge_if(|status| status >= 400)).await;
        let caller = server.caller(1);
        let under_way = five_under_way(&server).await;
        assert_eq!(caller.statuses("/", 3).await, [429; 3]);
        server.app.scene.let_go(5);
        assert_eq!(under_way.join_all().await, [200; 5]);
        assert_eq!(caller.statuses("/", 9).await, [200; 9]);
    }

    /// Neither a service's request nor a refused one is given back.
    async fn nothing_else_is_given_back(stage) {
        let server = stage.serve(stage.five().charge_if(|status| status == 404)).await;
        let caller = server.caller(1);
        assert_eq!(caller.statuses("/nowhere", 7).await, [404, 404, 404, 404, 404, 429, 429]);
        caller.repeat(&Request::get("/").ours(), 9).await;
        assert_eq!(caller.get("/").await.status, 429);
    }

    /// A refund after the window is no gain. (abuse 29)
    async fn late_refunds(stage) {
        let server = stage.serve(stage.five().charge_if(|status| status >= 400)).await;
        let caller = server.caller(1);
        let under_way = five_under_way(&server).await;
        stage.pass(60.0);
        assert_eq!(caller.statuses("/nowhere", 2).await, [404; 2]);
        server.app.scene.let_go(5);
        assert_eq!(under_way.join_all().await, [200; 5]);
        assert_eq!(caller.statuses("/nowhere", 4).await, [404, 404, 404, 429]);
    }
}
