//! Many at once: exactly the limit passes.

use tokio::task::JoinSet;
use tollgate_http::Quota;

use crate::app::App;
use crate::case::cases;
use crate::request::Request;

fn admitted(statuses: &[u16]) -> usize {
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    statuses.iter().filter(|&&status| status == 200).count()
}

cases! {
    /// Of requests that are pipelined exactly the limit passes, in order.
    async fn pipelined_requests(stage) {
        let server = stage.serve_five().await;
        let mut connection = server.caller(1).connect().await;
        let requests: Vec<_> =
            (0..20).map(|number| Request::get(format!("/users/{number}")).bytes()).collect();
        connection.write(&requests.concat()).await;
        for number in 0..20 {
            let reply = connection.reply("GET").await.expect("as many responses as requests");
            match number {
                0..5 => {
                    assert_eq!((reply.status, reply.text()), (200, &*number.to_string()));
                    assert_eq!(reply.line("ratelimit"), format!("\"default\";r={};t=60", 4 - number));
                }
                _ => assert_eq!(reply.status, 429),
            }
        }
        assert!(connection.is_silent());
    }

    /// Pipelined requests of a service, a forger and a stranger are each taken for what they are.
    async fn pipelined_identities(stage) {
        let server = stage.serve_five().await;
        let mut connection = server.caller(1).connect().await;
        let requests = [Request::get("/").ours(), Request::get("/").token("made up"), Request::get("/")];
        let bytes: Vec<_> = requests.iter().cycle().take(12).map(Request::bytes).collect();
        connection.write(&bytes.concat()).await;
        let mut statuses = Vec::new();
        for _ in 0..12 {
            statuses.push(connection.reply("GET").await.expect("as many responses as requests").status);
        }
        assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 200, 429, 200, 429, 429]);
    }

    /// Of concurrent streams of HTTP/2 exactly the limit passes.
    async fn concurrent_streams(stage) {
        let server = stage.serve(stage.gate(Quota::per_minute(100))).await;
        let connection = server.caller(1).http2().await;
        let mut streams = JoinSet::new();
        for _ in 0..200 {
            let connection = connection.clone();
            streams.spawn(async move { connection.send(&Request::get("/")).await.status });
        }
        assert_eq!(admitted(&streams.join_all().await), 100);
        assert_eq!(server.app.scene.greeted(), 100);
    }

    /// Both versions of HTTP share a caller's budget.
    async fn versions_share(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let second = caller.http2().await;
        assert_eq!(second.send(&Request::get("/")).await.line("ratelimit"), r#""default";r=4;t=60"#);
        assert_eq!(caller.get("/").await.line("ratelimit"), r#""default";r=3;t=60"#);
        assert_eq!(caller.left().await, 3);
        assert_eq!(second.send(&Request::get("/")).await.status, 429);
    }

    /// Of many connections to four workers exactly the limit passes. (abuse 15, 33)
    async fn workers_share(stage) {
        let app = App { workers: 4, ..stage.gate(Quota::per_hour(100)).into() };
        let server = stage.serve(app).await;
        for host in 1..=3 {
            let caller = server.caller(host);
            let mut callers = JoinSet::new();
            for _ in 0..32 {
                callers.spawn(async move { caller.statuses("/", 8).await });
            }
            assert_eq!(admitted(&callers.join_all().await.concat()), 100);
        }
    }

    /// Of many callers at once each has exactly its limit.
    async fn many_callers(stage) {
        let server = stage.serve(App { workers: 2, ..stage.five().into() }).await;
        let mut callers = JoinSet::new();
        for host in 1..=100 {
            let caller = server.caller(host);
            callers.spawn(async move { caller.statuses("/", 7).await });
        }
        for statuses in callers.join_all().await {
            assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
        }
    }
}
