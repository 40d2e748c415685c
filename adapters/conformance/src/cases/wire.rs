//! Odd bytes on the wire.

use crate::app::TOKEN;
use crate::case::cases;
use crate::request::Request;

cases! {
    /// What is no request of HTTP is answered or closed by the server, counted or not, and the next caller is served.
    async fn garbage_is_no_request(stage) {
        let server = stage.serve_five().await;
        let garbage: [&[u8]; 6] = [
            b"\r\n\r\n\r\n\0\0\0\0 no method\r\n\r\n",
            b"GET\r\n\r\n",
            b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
            b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nx y: z\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        ];
        for bytes in garbage {
            let mut connection = server.caller(1).connect().await;
            connection.write(bytes).await;
            connection.finish().await;
            while let Some(reply) = connection.reply("GET").await {
                assert!((400..=505).contains(&reply.status), "{reply:?}");
            }
        }
        assert_eq!(server.app.scene.greeted(), 0);
        assert_eq!(server.caller(2).left().await, 5);
    }

    /// A length and chunks at once, or two lengths, get nothing through: one answer at most, and none from the body.
    async fn bad_framing_smuggles_nothing(stage) {
        let server = stage.serve_five().await;
        let smuggled = format!("GET / HTTP/1.1\r\nHost: a\r\nx-internal-token: {TOKEN}\r\n\r\n");
        let framings = [
            format!(
                "Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}",
                smuggled.len() + 5
            ),
            format!("Content-Length: 0\r\nContent-Length: {}\r\n\r\n{smuggled}", smuggled.len()),
            format!("Content-Length: -1\r\n\r\n{smuggled}"),
            format!("Content-Length: +0\r\n\r\n{smuggled}"),
            format!("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{smuggled}"),
            format!("Transfer-Encoding: xchunked\r\nContent-Length: {}\r\n\r\n{smuggled}", smuggled.len()),
        ];
        for (host, framing) in (1..).zip(framings) {
            let mut connection = server.caller(host).connect().await;
            connection.write(format!("POST /users/7 HTTP/1.1\r\nHost: a\r\n{framing}").as_bytes()).await;
            connection.finish().await;
            let mut statuses = Vec::new();
            while let Some(reply) = connection.reply("POST").await {
                statuses.push(reply.status);
            }
            // RFC 9112 §6.3: chunks win over a length, and then what follows them is a request of its own.
            let by_chunks = framing.starts_with("Content-Length") && framing.contains("chunked");
            let allowed = if by_chunks { 2 } else { 1 };
            assert!(statuses.len() <= allowed, "{framing:?}: {statuses:?}");
            assert!(server.caller(host).left().await >= 4);
        }
        assert!(server.app.scene.greeted() <= 31);
    }

    /// HTTP/1.0 is counted as well, and the connection closed after.
    async fn http_1_0(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        for number in 0..7 {
            let mut connection = caller.connect().await;
            connection.write(b"GET / HTTP/1.0\r\n\r\n").await;
            let reply = connection.reply("GET").await.unwrap();
            assert_eq!(reply.status, if number < 5 { 200 } else { 429 });
            assert_eq!(reply.lines("ratelimit").len(), 1);
            assert!(connection.is_closed().await);
        }
    }

    /// `Connection: close` closes after a refusal, too.
    async fn connections_close_when_asked(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        for status in [200, 200, 200, 200, 200, 429, 429] {
            let mut connection = caller.connect().await;
            assert_eq!(connection.send(&Request::get("/").field("Connection", "close")).await.status, status);
            assert!(connection.is_closed().await);
        }
    }

    /// A refusal closes nothing: connections are kept for when there is more.
    async fn refusals_keep_connections(stage) {
        let server = stage.serve_five().await;
        let mut connection = server.caller(1).connect().await;
        for round in 0..3 {
            for status in [200, 200, 200, 200, 200, 429, 429] {
                assert_eq!(connection.send(&Request::get("/")).await.status, status, "round {round}");
            }
            stage.pass(60.0);
        }
    }

    /// A caller's credential at one request says nothing of the next on its connection.
    async fn credentials_are_each_requests(stage) {
        let server = stage.serve_five().await;
        let mut connection = server.caller(1).connect().await;
        for _ in 0..5 {
            assert_eq!(connection.send(&Request::get("/internal").ours()).await.status, 200);
            assert_eq!(connection.send(&Request::get("/internal")).await.status, 401);
        }
        assert_eq!(connection.send(&Request::get("/internal")).await.status, 429);
        assert_eq!(connection.send(&Request::get("/internal").ours()).await.status, 200);
        let second = server.caller(2).http2().await;
        assert_eq!(second.send(&Request::get("/internal").ours()).await.status, 200);
        assert_eq!(second.send(&Request::get("/internal")).await.status, 401);
    }
}
