//! The responses that are the gate's own.

use tollgate_http::RefusalBody;

use crate::case::cases;
use crate::request::Request;

fn grpc(content_type: &str) -> Request {
    Request::post("/", "\0\0\0\0\0").field("content-type", content_type)
}

cases! {
    /// The body of a refusal is problem+json with the registered type, a title, details and the policies.
    async fn problem_json(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        caller.left().await;
        stage.pass(20.0);
        let reply = caller.get("/").await;
        assert_eq!(reply.line("content-type"), "application/problem+json");
        let body = reply.json();
        assert_eq!(body["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
        assert_eq!(body["status"], 429);
        assert_eq!(body["violated-policies"], serde_json::json!(["default"]));
        assert!(body["title"].is_string());
        assert_eq!(body["detail"], "The limit of 5 requests in 60 s is used up. Try again in 40 s.");
    }

    /// The body of a refusal is plain text, on request.
    async fn plain_text(stage) {
        let server = stage.serve(stage.five().refusal_body(RefusalBody::PlainText)).await;
        let caller = server.caller(1);
        caller.left().await;
        let reply = caller.get("/").await;
        assert_eq!((reply.status, reply.line("content-type")), (429, "text/plain; charset=utf-8"));
        assert_eq!(reply.text(), "The limit of 5 requests in 60 s is used up. Try again in 60 s.\n");
        assert_eq!((reply.line("retry-after"), reply.line("cache-control")), ("60", "no-store"));
    }

    /// Clients of gRPC get status 200, `RESOURCE_EXHAUSTED` and the delay in milliseconds, by either version of HTTP.
    async fn grpc_refusals(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        caller.left().await;
        stage.pass(17.5);
        let second = caller.http2().await;
        for content_type in
            ["application/grpc", "application/grpc+proto", "application/grpc-web", "Application/gRPC"]
        {
            for reply in [caller.send(&grpc(content_type)).await, second.send(&grpc(content_type)).await] {
                assert_eq!(
                    (reply.status, reply.line("content-type")),
                    (200, "application/grpc"),
                    "{reply:?}"
                );
                assert_eq!((reply.line("grpc-status"), reply.line("grpc-message").is_empty()), ("8", false));
                let pushback: u64 = reply.line("grpc-retry-pushback-ms").parse().unwrap();
                assert!((42_400..=42_500).contains(&pushback), "{pushback}");
                assert!(reply.body.is_empty() && reply.lines("retry-after").is_empty(), "{reply:?}");
                assert_eq!(reply.lines("ratelimit").len(), 1, "{reply:?}");
            }
        }
    }

    /// Other content types are refused as usual, and admitted gRPC is the application's.
    async fn grpc_alone_is_grpc(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let admitted = caller.send(&grpc("application/grpc")).await;
        assert_eq!((admitted.status, admitted.text()), (200, "hello"));
        caller.left().await;
        for other in ["application/json", "text/plain; application/grpc", "grpc"] {
            assert_eq!(caller.send(&grpc(other)).await.status, 429, "{other}");
        }
    }

    /// A responder's status, body and fields are sent in place of the refusal.
    async fn a_responder_answers(stage) {
        let gate = stage.five().responder(|answer, decision| {
            let key = decision.origin().map(|origin| origin.to_string()).unwrap_or_default();
            answer.with_status(503).with_body("text/html", "<h1>Slow down</h1>").with_field("x-key", key)
        });
        let server = stage.serve(gate).await;
        let caller = server.caller(1);
        caller.left().await;
        let reply = caller.get("/").await;
        assert_eq!((reply.status, reply.line("content-type")), (503, "text/html"));
        assert_eq!(
            (reply.text(), reply.line("x-key")),
            ("<h1>Slow down</h1>", &*format!("{}/32", caller.address))
        );
        assert_eq!((reply.line("retry-after"), reply.line("cache-control")), ("60", "no-store"));
        assert_eq!(reply.line("ratelimit"), r#""default";r=0;t=60"#);
        assert_eq!(caller.send(&grpc("application/grpc")).await.line("grpc-status"), "8");
    }

    /// A responder's field that can't be sent is left out, and nothing breaks.
    async fn a_responder_can_not_break_a_response(stage) {
        let gate = stage.five().responder(|answer, _| {
            let split = "a\r\nset-cookie: b";
            answer
                .with_status(1_000)
                .with_field("x-split", split)
                .with_field("no name", "a")
                .with_field("x-good", "a")
        });
        let server = stage.serve(gate).await;
        let mut connection = server.caller(1).connect().await;
        for _ in 0..5 {
            connection.send(&Request::get("/")).await;
        }
        let reply = connection.send(&Request::get("/")).await;
        assert_eq!(reply.line("x-good"), "a");
        assert!(
            reply.fields().all(|(name, _)| !["x-split", "set-cookie", "no name"].contains(&name)),
            "{reply:?}"
        );
        assert!(reply.status >= 400, "{reply:?}");
        assert_eq!(connection.send(&Request::get("/")).await.line("x-good"), "a");
    }

    /// A caller that asks for what it can never have is told no time.
    async fn a_hopeless_wait_is_not_told(stage) {
        let app = crate::app::App { rule: Some(crate::rule::Rule::ByFields), ..stage.five().into() };
        let server = stage.serve(app).await;
        let caller = server.caller(1);
        let reply = caller.send(&Request::get("/").field("x-cost", "6")).await;
        assert_eq!((reply.status, reply.lines("retry-after").len()), (429, 0));
        assert!(reply.text().contains("costs more than the limit of 5"), "{reply:?}");
        assert_eq!(reply.line("ratelimit"), r#""default";r=5"#);
        let reply = caller.send(&grpc("application/grpc").field("x-cost", "6")).await;
        assert_eq!(reply.line("grpc-retry-pushback-ms"), "-1");
        assert_eq!(caller.left().await, 5);
    }
}
