//! Clients that go away.

use tokio::task::JoinSet;
use tollgate_http::Quota;

use crate::case::cases;
use crate::http2::Http2;
use crate::reply::Reply;
use crate::request::Request;
use crate::scene::Scene;
use crate::stage::{Caller, Server};

/// Asks for what takes long, and breaks the connection off once the application has the request.
async fn give_up(server: &Server, caller: Caller, requests: usize) {
    for _ in 0..requests {
        let mut connection = caller.connect().await;
        connection.write(&Request::get("/slow").bytes()).await;
        tokio::select! {
            () = server.app.scene.arrived(1) => {}
            reply = connection.reply("GET") => panic!("answered before it may be: {reply:?}"),
        }
        connection.break_off();
        server.app.scene.left(1).await;
    }
}

/// Asks for what takes long on a stream, and resets that once the application has the request.
async fn reset(scene: &Scene, connection: &Http2) {
    let mut stream = JoinSet::new();
    let (request, streams) = (Request::get("/slow"), connection.clone());
    stream.spawn(async move { streams.send(&request).await.status });
    scene.all_arrive(1, &mut stream).await;
    stream.shutdown().await;
}

/// Asks until there is room again: what the handler holds is gone before what the adapter holds. What is refused for want
/// of room is not charged.
async fn until_there_is_room(caller: Caller) -> Reply {
    let mut connection = caller.connect().await;
    for _ in 0..TRIES {
        let reply = connection.send(&Request::get("/")).await;
        if reply.status == 200 {
            return reply;
        }
    }
    panic!("there is no room, though nothing is under way");
}

/// What a response says that remains.
fn remaining(reply: &Reply) -> usize {
    let remaining = reply.line("ratelimit").split(';').find_map(|part| part.strip_prefix("r="));
    remaining.and_then(|remaining| remaining.parse().ok()).unwrap()
}

/// So many exchanges take long enough for a server to do what is left to do.
const TRIES: usize = 10_000;

cases! {
    /// Who goes away amid a request has paid, even where its response might have been free.
    async fn giving_up_is_charged(stage) {
        for gate in [stage.five(), stage.five().charge_if(|status| status >= 500)] {
            let server = stage.serve(gate).await;
            let caller = server.caller(1);
            give_up(&server, caller, 3).await;
            assert_eq!(caller.statuses("/status/500", 3).await, [500, 500, 429]);
        }
    }

    /// Who goes away amid a request has nothing under way any more.
    async fn giving_up_makes_room(stage) {
        let server = stage.serve(stage.five().in_flight(1)).await;
        let caller = server.caller(1);
        give_up(&server, caller, 1).await;
        until_there_is_room(caller).await;
        give_up(&server, caller, 1).await;
        until_there_is_room(caller).await;
        assert_eq!(caller.left().await, 1);
    }

    /// A stream of HTTP/2 that is reset is charged, and leaves the others of its connection as they are.
    async fn reset_streams_are_charged(stage) {
        let server = stage.serve(stage.five().charge_if(|status| status >= 500)).await;
        let scene = &server.app.scene;
        let connection = server.caller(1).http2().await;
        reset(scene, &connection).await;
        reset(scene, &connection).await;
        for remaining in (0..3).rev() {
            let reply = connection.send(&Request::get("/status/500")).await;
            assert_eq!(reply.line("ratelimit"), format!("\"default\";r={remaining};t=60"));
        }
        assert_eq!(connection.send(&Request::get("/")).await.status, 429);
    }

    /// A stream of HTTP/2 that is reset is no longer under way.
    async fn reset_streams_make_room(stage) {
        let server = stage.serve(stage.five().in_flight(1)).await;
        let (caller, scene) = (server.caller(1), &server.app.scene);
        let connection = caller.http2().await;
        for _ in 0..2 {
            reset(scene, &connection).await;
            scene.left(1).await;
            until_there_is_room(caller).await;
        }
        assert_eq!(connection.send(&Request::get("/")).await.line("ratelimit"), r#""default";r=0;t=60"#);
    }

    /// A request is counted once its head is whole, and not before.
    async fn half_a_head(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        for _ in 0..8 {
            let mut connection = caller.connect().await;
            connection.write(b"GET / HTTP/1.1\r\nHost: tollgate.test\r\n").await;
            connection.break_off();
        }
        let mut late = caller.connect().await;
        late.write(b"GET / HTTP/1.1\r\nHost: tollg").await;
        assert_eq!(caller.statuses("/", 4).await, [200; 4]);
        late.write(b"ate.test\r\n\r\n").await;
        assert_eq!(late.reply("GET").await.unwrap().line("ratelimit"), r#""default";r=0;t=60"#);
    }

    /// Who goes away amid a body is charged for the request, and has nothing under way any more.
    async fn half_a_body(stage) {
        let server = stage.serve(stage.gate(Quota::per_minute(50_000)).in_flight(2)).await;
        let (caller, scene) = (server.caller(1), &server.app.scene);
        let mut connection = caller.connect().await;
        let head = "POST /echo HTTP/1.1\r\nHost: tollgate.test\r\nContent-Length: 1000\r\n\r\nhalf";
        connection.write(head.as_bytes()).await;
        // It has arrived when it was charged beside the requests that are counted here.
        let mut other = caller.connect().await;
        let mut counted = 1;
        while remaining(&other.send(&Request::get("/")).await) == 50_000 - counted {
            counted += 1;
            assert!(counted < TRIES, "the request with half a body never arrives");
        }
        let mut under_way = JoinSet::new();
        under_way.spawn(async move { caller.get("/slow").await.status });
        scene.all_arrive(1, &mut under_way).await;
        assert_eq!(other.send(&Request::get("/")).await.status, 429);
        connection.break_off();
        let reply = until_there_is_room(caller).await;
        // Those, the one with half a body, the slow one, and this one.
        assert_eq!(remaining(&reply), 50_000 - counted - 3);
        scene.let_go(1);
        assert_eq!(under_way.join_all().await, [200]);
    }

    /// Who says that it sends no more after its request gets its response, and has paid, or a closed connection.
    async fn half_closed(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let mut answered = 0;
        for target in ["/", "/users/7"] {
            let mut connection = caller.connect().await;
            connection.write(&Request::get(target).bytes()).await;
            connection.finish().await;
            if let Some(reply) = connection.reply("GET").await {
                assert_eq!(reply.status, 200);
                answered += 1;
            }
            assert!(connection.is_closed().await);
        }
        assert!((3..=5 - answered).contains(&caller.left().await));
    }
}
