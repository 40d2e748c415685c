//! The incident: twenty with the internal token, plain requests, and forged tokens, all against a limit of five.

use crate::case::cases;
use crate::request::Request;

cases! {
    /// Twenty with the internal token pass a limit of five.
    async fn services_pass(stage) {
        let server = stage.serve_five().await;
        for target in ["/", "/internal"] {
            assert_eq!(server.caller(1).repeat(&Request::get(target).ours(), 20).await, [200; 20]);
        }
        assert_eq!(server.app.scene.greeted(), 20);
    }

    /// Exempt requests do not consume.
    async fn exempt_requests_do_not_consume(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        caller.repeat(&Request::get("/").ours(), 20).await;
        assert_eq!(caller.left().await, 5);
    }

    /// The first N pass, N + 1 is refused, and the application does not see what is refused.
    async fn first_n_pass(stage) {
        let server = stage.serve_five().await;
        assert_eq!(server.caller(1).statuses("/", 8).await, [200, 200, 200, 200, 200, 429, 429, 429]);
        assert_eq!(server.app.scene.greeted(), 5);
    }

    /// Forged tokens use the anonymous budget, however often they change. (abuse 35)
    async fn forged_tokens_are_counted(stage) {
        let server = stage.serve_five().await;
        let mut connection = server.caller(1).connect().await;
        for number in 0..8 {
            let reply =
                connection.send(&Request::get("/").token(format!("made-up token number {number}"))).await;
            assert_eq!(reply.status, if number < 5 { 200 } else { 429 });
        }
        assert_eq!(server.caller(1).left().await, 0);
    }

    /// A forger gets 401 from internal routes while its budget lasts, and then 429.
    async fn forgers_get_401_then_429(stage) {
        let server = stage.serve_five().await;
        for (host, route) in (1..).zip(["/internal", "/internal/name"]) {
            let forger = server.caller(host);
            let request = Request::get(route).token("made up");
            assert_eq!(forger.repeat(&request, 7).await, [401, 401, 401, 401, 401, 429, 429]);
            assert_eq!(forger.send(&Request::get(route).ours()).await.status, 200);
            stage.pass(60.0);
            assert_eq!(forger.send(&request).await.status, 401);
        }
    }
}
