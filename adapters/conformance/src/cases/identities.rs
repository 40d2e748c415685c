//! Who is exempt, and who is not.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::app::TOKEN;
use crate::case::cases;
use crate::log::Log;
use crate::request::Request;

cases! {
    /// An identity is not an address: a service passes from where everybody else is over the limit.
    async fn services_pass_from_any_address(stage) {
        let server = stage.serve_five().await;
        for host in 1..=3 {
            let caller = server.caller(host);
            caller.left().await;
            assert_eq!(caller.send(&Request::get("/").ours()).await.status, 200);
            assert_eq!(caller.get("/").await.status, 429);
        }
    }

    /// A listed service never limits another, nor its users.
    async fn services_never_limit_another(stage) {
        let other = "the-secret-of-the-orchestrator..";
        let server = stage.serve(stage.five().service("orchestrator", other)).await;
        let caller = server.caller(1);
        caller.repeat(&Request::get("/").ours(), 50).await;
        for (token, name) in [(TOKEN, "edge"), (other, "orchestrator")] {
            let reply = caller.send(&Request::get("/internal/name").token(token)).await;
            assert_eq!((reply.status, reply.text()), (200, name));
        }
        assert_eq!(caller.left().await, 5);
    }

    /// Secrets are compared whole: a part, more, another case are forgeries. (abuse 13)
    async fn secrets_are_compared_whole(stage) {
        let server = stage.serve_five().await;
        let near = [
            TOKEN[1..].to_owned(),
            TOKEN[..TOKEN.len() - 1].to_owned(),
            format!("{TOKEN}."),
            format!("{TOKEN}, {TOKEN}"),
            format!("Bearer {TOKEN}"),
            TOKEN.to_uppercase(),
            format!("\"{TOKEN}\""),
        ];
        for (host, token) in (1..).zip(near) {
            assert_eq!(
                server.caller(host).send(&Request::get("/internal").token(&token)).await.status,
                401,
                "{token}"
            );
            assert_eq!(server.caller(host).left().await, 4, "{token}");
        }
    }

    /// Two credential lines are never exempt, whatever they say. (abuse 7)
    async fn two_credential_lines(stage) {
        let server = stage.serve_five().await;
        for (host, other) in (1..).zip([TOKEN, "made up", ""]) {
            let lines = [
                Request::get("/internal").ours().token(other),
                Request::get("/internal").token(other).ours(),
            ];
            for request in &lines {
                assert_eq!(server.caller(host).send(request).await.status, 401, "{other}");
            }
            assert_eq!(server.caller(host).http2().await.send(&lines[0]).await.status, 401, "{other}");
            assert_eq!(server.caller(host).left().await, 2, "they were counted");
        }
    }

    /// Only the exact field name counts, in any case. (abuse 8)
    async fn aliases_are_no_credential(stage) {
        let server = stage.serve(stage.gate(tollgate_http::Quota::per_minute(50))).await;
        let caller = server.caller(1);
        for name in [
            "x_internal_token",
            "x.internal.token",
            "x-internal-token-",
            "internal-token",
            "x-internal_token",
        ] {
            assert_eq!(
                caller.send(&Request::get("/internal").field(name, TOKEN)).await.status,
                401,
                "{name}"
            );
        }
        for name in ["X-INTERNAL-TOKEN", "x-Internal-tOKEN"] {
            assert_eq!(
                caller.send(&Request::get("/internal").field(name, TOKEN)).await.status,
                200,
                "{name}"
            );
        }
    }

    /// An empty or absent credential exempts nobody, least of all where no service is known. (abuse 10, 12)
    async fn empty_credentials(stage) {
        let known = stage.five();
        let unknown = tollgate_http::Gate::builder(tollgate_http::Quota::per_minute(5));
        let clock = tollgate_http::Clock::Manual(stage.clock.clone());
        for gate in [known, unknown.clock(clock)] {
            let server = stage.serve(gate).await;
            let caller = server.caller(1);
            for request in [Request::get("/internal"), Request::get("/internal").token("")] {
                assert_eq!(caller.send(&request).await.status, 401);
            }
            assert_eq!(caller.left().await, 3);
        }
    }

    /// Private and loopback addresses are nobody in particular. (abuse 11)
    async fn no_address_is_internal(stage) {
        let gate = stage.five().source(tollgate_http::Source::XForwardedFor).trust_network("127.0.0.0/8");
        let server = stage.serve(gate).await;
        for address in ["10.0.0.7", "127.0.0.1", "192.168.1.1", "::1", "169.254.1.1"] {
            let request = Request::get("/internal").forwarded_for(address);
            assert_eq!(
                server.caller(1).repeat(&request, 6).await,
                [401, 401, 401, 401, 401, 429],
                "{address}"
            );
        }
    }

    /// Bearer tokens: any case of the scheme, other schemes present nothing, and users' own tokens are counted.
    async fn bearer_tokens(stage) {
        let server = stage.serve(stage.five().bearer()).await;
        let caller = server.caller(1);
        let with = |value: &str| Request::get("/internal").field("authorization", value);
        for scheme in ["Bearer", "bearer", "BEARER"] {
            assert_eq!(caller.repeat(&with(&format!("{scheme} {TOKEN}")), 10).await, [200; 10]);
        }
        let plain = caller.send(&with(&format!("Basic {TOKEN}"))).await;
        assert_eq!((plain.status, plain.line("www-authenticate")), (401, r#"Bearer realm="internal""#));
        assert_eq!(caller.send(&with("Bearer a-token-of-some-user")).await.status, 401);
        assert_eq!(caller.send(&Request::get("/internal").ours()).await.status, 401);
        assert_eq!(caller.left().await, 2);
    }

    /// The header can be another, and then the default one is nobody's.
    async fn another_header(stage) {
        let server = stage.serve(stage.five().credential_header("X-Service-Key")).await;
        let caller = server.caller(1);
        let request = Request::get("/internal").field("x-service-key", TOKEN);
        assert_eq!(caller.repeat(&request, 10).await, [200; 10]);
        let reply = caller.send(&Request::get("/internal").ours()).await;
        assert_eq!(reply.status, 401);
        assert!(reply.line("www-authenticate").contains(r#"header="x-service-key""#), "{reply:?}");
        assert_eq!(caller.left().await, 4);
    }

    /// While secrets are rotated the old one and the new one are both the service's.
    async fn secrets_rotate(stage) {
        let new = "the-internal-token-of-next-month";
        let server = stage.serve(stage.five().service("edge", new)).await;
        for token in [TOKEN, new] {
            let reply = server.caller(1).send(&Request::get("/internal/name").token(token)).await;
            assert_eq!((reply.status, reply.text()), (200, "edge"));
        }
    }

    /// Bytes that are no text are a forgery, and nothing breaks. (abuse 26, 31)
    async fn credentials_of_any_bytes(stage) {
        let server = stage.serve_five().await;
        let mut connection = server.caller(1).connect().await;
        for bytes in [&b"\xff\xfe\x80"[..], "gehe\u{ef}mnis".as_bytes(), b"a\tb", &[b'a'; 8_000]] {
            assert_eq!(
                connection.send(&Request::get("/internal").token(bytes)).await.status,
                401,
                "{bytes:?}"
            );
        }
        assert_eq!(server.caller(1).left().await, 1);
    }

    /// No log line has a secret in it, nor a made-up one. (abuse 27; responses are looked at by every case)
    async fn secrets_are_not_logged(stage) {
        // Ones that nobody else sends, since the log is the whole process's.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // ORDERING: only uniqueness counts.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (secret, forgery) = (format!("a-secret-that-is-logged-{number:08}"), format!("a-forgery-{number:08}"));
        let server = stage.serve(stage.five().service("orchestrator", &secret)).await;
        let caller = server.caller(1);
        for (token, statuses) in [(&secret, [200; 7]), (&forgery, [401, 401, 401, 401, 401, 429, 429])] {
            let request = Request::get("/internal").token(token).forwarded_for("198.51.100.1");
            assert_eq!(caller.repeat(&request, 7).await, statuses);
        }
        let log = Log::of_all_threads().read();
        assert!(!log.contains(&secret) && !log.contains(&forgery), "{log}");
    }
}
