//! Requests with bodies: what is refused is refused early, and nothing of a body is taken for a request.

use crate::app::TOKEN;
use crate::case::cases;
use crate::http1::Connection;
use crate::request::Request;

/// What a body holds that would like to be a request: one of a service, which would be admitted.
fn smuggled() -> String {
    format!("GET / HTTP/1.1\r\nHost: tollgate.test\r\nx-internal-token: {TOKEN}\r\n\r\n")
}

/// A head of a request whose body waits for an answer.
const EXPECTING: &[u8] =
    b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n";

/// Sends one more request, which is refused like the ones before, or finds the connection closed.
async fn in_step_or_closed(connection: &mut Connection) {
    connection.write(&Request::get("/").bytes()).await;
    while let Some(reply) = connection.reply("GET").await {
        assert!(matches!(reply.status, 400 | 408 | 413 | 429), "{reply:?}");
        if reply.status != 429 {
            assert!(connection.is_closed().await);
            return;
        }
        if connection.is_silent() {
            return;
        }
    }
}

cases! {
    /// A body of a megabyte that is admitted arrives whole, with its length or in chunks.
    async fn large_bodies_arrive(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let body = vec![b'a'; 1 << 20];
        assert_eq!(caller.send(&Request::post("/echo", &body[..])).await.text(), "1048576");
        let mut connection = caller.connect().await;
        connection.write(b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").await;
        for chunk in body.chunks(1 << 16) {
            connection.write(format!("{:x}\r\n", chunk.len()).as_bytes()).await;
            connection.write(&[chunk, b"\r\n"].concat()).await;
        }
        connection.write(b"0\r\n\r\n").await;
        let reply = connection.reply("POST").await.unwrap();
        assert_eq!((reply.text(), reply.line("ratelimit")), ("1048576", r#""default";r=3;t=60"#));
        assert_eq!(connection.send(&Request::get("/")).await.status, 200);
        assert_eq!(caller.http2().await.send(&Request::post("/echo", body)).await.text(), "1048576");
    }

    /// A large body is refused before it is sent.
    async fn large_bodies_are_refused_early(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        caller.left().await;
        let mut connection = caller.connect().await;
        connection.write(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n").await;
        assert_eq!(connection.reply("POST").await.unwrap().status, 429);
        let mut chunked = caller.connect().await;
        chunked
            .write(b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
            .await;
        assert_eq!(chunked.reply("POST").await.unwrap().status, 429);
    }

    /// Nothing of a refused body is taken for a request: the connection is in step or closed.
    async fn refused_bodies_are_no_requests(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        caller.left().await;
        let greeted = server.app.scene.greeted();
        for copies in [1, 1_000] {
            let body = smuggled().repeat(copies);
            let mut connection = caller.connect().await;
            // With the head, and after the response.
            connection.write(&Request::post("/echo", &*body).bytes()).await;
            in_step_or_closed(&mut connection).await;
            let mut connection = caller.connect().await;
            let head = format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
            connection.write(head.as_bytes()).await;
            assert_eq!(connection.reply("POST").await.unwrap().status, 429);
            connection.write(body.as_bytes()).await;
            in_step_or_closed(&mut connection).await;
        }
        assert_eq!(server.app.scene.greeted(), greeted);
    }

    /// Nothing of a refused body in chunks is taken for a request either.
    async fn refused_chunks_are_no_requests(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        caller.left().await;
        let greeted = server.app.scene.greeted();
        let mut connection = caller.connect().await;
        connection.write(b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").await;
        assert_eq!(connection.reply("POST").await.unwrap().status, 429);
        connection.write(format!("{:x}\r\n{}\r\n0\r\n\r\n", smuggled().len(), smuggled()).as_bytes()).await;
        in_step_or_closed(&mut connection).await;
        assert_eq!(server.app.scene.greeted(), greeted);
    }

    /// Small bodies of refused requests leave a kept connection in step.
    async fn small_bodies_stay_in_step(stage) {
        let server = stage.serve_five().await;
        let mut connection = server.caller(1).connect().await;
        let requests = (0..12).map(|_| Request::post("/echo", "0123456789").bytes());
        connection.write(&requests.collect::<Vec<_>>().concat()).await;
        for number in 0..12 {
            // A server may close the connection instead of reading on, but not before the refusal.
            let Some(reply) = connection.reply("POST").await else {
                assert!(number > 5, "closed before the first refusal");
                break;
            };
            assert_eq!(reply.status, if number < 5 { 200 } else { 429 });
        }
    }

    /// Who asks before it sends a body is told to go on, or refused.
    async fn expectations_are_answered(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let mut connection = caller.connect().await;
        connection.write(EXPECTING).await;
        connection.write(b"body").await;
        assert_eq!(connection.reply("POST").await.unwrap().text(), "4");
        caller.left().await;
        let mut connection = caller.connect().await;
        connection.write(EXPECTING).await;
        assert_eq!(connection.reply("POST").await.unwrap().status, 429);
    }

    /// Who asks before it sends a body is refused without being told to go on first.
    async fn refusals_do_not_invite(stage) {
        let server = stage.serve_five().await;
        server.caller(1).left().await;
        let mut connection = server.caller(1).connect().await;
        connection.write(EXPECTING).await;
        assert_eq!(connection.reply("POST").await.unwrap().status, 429);
        assert_eq!(connection.continued, 0);
    }

    /// A stream of HTTP/2 with a large body is refused, and the others of its connection go on.
    async fn refused_streams_leave_the_others(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let connection = caller.http2().await;
        caller.left().await;
        for _ in 0..8 {
            assert_eq!(connection.send(&Request::post("/echo", vec![b'a'; 1 << 20])).await.status, 429);
        }
        stage.pass(60.0);
        assert_eq!(connection.send(&Request::post("/echo", "body")).await.text(), "4");
    }
}
