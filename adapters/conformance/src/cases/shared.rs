//! Budgets that other nodes share: what has to wait for their store.

use serde_json::Value;
use tokio::task::JoinSet;
use tollgate_http::{GateBuilder, Mode, Policy, Quota};

use crate::app::{App, OWN_FIELDS, TOKEN};
use crate::case::cases;
use crate::request::Request;
use crate::rule::Rule;
use crate::stage::{Server, Stage};
use crate::store::{Behaves, Store};

impl Stage {
    /// A gate of five a minute, whose budgets are in a store.
    fn shared(&self, store: &Store) -> GateBuilder {
        self.five().shared(store.clone())
    }

    /// Serves behind such a gate.
    async fn serve_shared(&self, behaves: Behaves) -> (Server, Store) {
        let store = Store::new(behaves);
        (self.serve(self.shared(&store)).await, store)
    }
}

cases! {
    /// Two servers with a gate each, and one store: the caller has its limit once, and is told how much is left.
    async fn nodes_share_a_store(stage) {
        for behaves in [Behaves::Knows, Behaves::Answers] {
            let store = Store::new(behaves);
            let nodes = [stage.serve(stage.shared(&store)).await, stage.serve(stage.shared(&store)).await];
            for request in 0..8 {
                let reply = nodes[request % 2].caller(1).get("/").await;
                let remaining = 4_usize.checked_sub(request);
                assert_eq!(reply.line("ratelimit"), format!("\"default\";r={};t=60", remaining.unwrap_or(0)));
                assert_eq!(reply.status, if remaining.is_some() { 200 } else { 429 });
                assert_eq!(reply.lines("retry-after").len(), usize::from(remaining.is_none()));
                assert_eq!(reply.line("ratelimit-policy"), r#""default";q=5;w=60"#);
            }
            stage.pass(60.0);
            assert_eq!([nodes[0].caller(1).left().await, nodes[1].caller(1).left().await], [5, 0]);
        }
    }

    /// Of many connections to two servers with one store exactly the limit passes.
    async fn nodes_share_exactly(stage) {
        for behaves in [Behaves::Knows, Behaves::Answers] {
            let store = Store::new(behaves);
            let mut callers = JoinSet::new();
            let mut nodes = Vec::new();
            for _ in 0..2 {
                let gate = stage.gate(Quota::per_hour(100)).shared(store.clone());
                nodes.push(stage.serve(App { workers: 2, ..gate.into() }).await);
            }
            for number in 0..32 {
                let caller = nodes[number % 2].caller(1);
                callers.spawn(async move { caller.statuses("/", 8).await });
            }
            let statuses = callers.join_all().await.concat();
            assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
            assert_eq!(statuses.iter().filter(|&&status| status == 200).count(), 100);
            assert_eq!(nodes.iter().map(|node| node.app.scene.greeted()).sum::<usize>(), 100);
        }
    }

    /// The application sees a request that waits once its store has answered, and not before.
    async fn a_store_is_waited_for(stage) {
        let (server, store) = stage.serve_shared(Behaves::Holds).await;
        let caller = server.caller(1);
        let mut waiting = JoinSet::new();
        waiting.spawn(async move { caller.get("/").await });
        store.arrived(1).await;
        assert_eq!((server.app.scene.greeted(), waiting.try_join_next().is_none()), (0, true));
        store.let_go(1);
        let reply = waiting.join_next().await.unwrap().unwrap();
        assert_eq!((reply.status, reply.text(), server.app.scene.greeted()), (200, "hello", 1));
        assert_eq!(reply.line("ratelimit"), r#""default";r=4;t=60"#);
    }

    /// Streams that wait are each answered in their time, and hold up nobody.
    async fn streams_wait_apart(stage) {
        let (server, store) = stage.serve_shared(Behaves::Holds).await;
        let connection = server.caller(1).http2().await;
        let mut waiting = JoinSet::new();
        for _ in 0..8 {
            let connection = connection.clone();
            waiting.spawn(async move { connection.send(&Request::get("/")).await.status });
        }
        store.arrived(8).await;
        assert_eq!(connection.send(&Request::get("/internal").ours()).await.text(), "ours");
        let mut statuses = Vec::new();
        for _ in 0..8 {
            store.let_go(1);
            statuses.push(waiting.join_next().await.unwrap().unwrap());
        }
        assert_eq!((statuses, server.app.scene.greeted()), (vec![200, 200, 200, 200, 200, 429, 429, 429], 5));
    }

    /// Pipelined requests that wait are answered in order.
    async fn pipelined_requests_wait(stage) {
        let (server, _) = stage.serve_shared(Behaves::Answers).await;
        let mut connection = server.caller(1).connect().await;
        let requests: Vec<_> =
            (0..8).map(|number| Request::get(format!("/users/{number}")).bytes()).collect();
        connection.write(&requests.concat()).await;
        for number in 0..8 {
            let reply = connection.reply("GET").await.expect("as many responses as requests");
            match number {
                0..5 => assert_eq!((reply.status, reply.text()), (200, &*number.to_string())),
                _ => assert_eq!(reply.status, 429),
            }
        }
    }

    /// A request that has waited is what it was: its body, its fields, its decision; and its response is the application's.
    async fn who_waited_is_the_same(stage) {
        let store = Store::new(Behaves::Answers);
        let gate = stage.gate(Quota::per_minute(50)).shared(store.clone()).strip_credential();
        let server = stage.serve(gate).await;
        let caller = server.caller(1);
        let body = vec![b'x'; 1 << 20];
        assert_eq!(caller.send(&Request::post("/echo", body.clone())).await.text(), body.len().to_string());
        let http2 = caller.http2().await;
        assert_eq!(http2.send(&Request::post("/echo", body.clone())).await.text(), body.len().to_string());
        let told = caller.send(&Request::get("/decision").token("made up")).await.json();
        assert_eq!(
            [&told["decided"], &told["counted"], &told["forged"], &told["credential"]].map(Value::as_bool),
            [Some(true), Some(true), Some(true), Some(false)]
        );
        assert_eq!((&told["remaining"], &told["over"]), (&47.into(), &false.into()));
        let reply = caller.get("/fields").await;
        assert_eq!(reply.lines("ratelimit"), [OWN_FIELDS[1].1, r#""default";r=46;t=60"#]);
        assert_eq!(caller.send(&Request::head("/")).await.status, 200);
        assert_eq!(caller.get("/nowhere").await.status, 404);
        assert_eq!(store.asked(), 6);
    }

    /// Who waited for a refusal gets it as anybody does.
    async fn refusals_after_waiting(stage) {
        let (server, _) = stage.serve_shared(Behaves::Answers).await;
        let caller = server.caller(1);
        assert_eq!(caller.statuses("/", 5).await, [200; 5]);
        let reply = caller.get("/").await;
        assert_eq!(reply.status, 429);
        assert_eq!(reply.line("content-type"), "application/problem+json");
        assert_eq!(reply.json()["violated-policies"][0], "default");
        let head = caller.send(&Request::head("/")).await;
        assert_eq!((head.status, head.body.len()), (429, 0));
        let grpc = caller.send(&Request::post("/", "").field("content-type", "application/grpc")).await;
        assert_eq!((grpc.status, grpc.line("grpc-status")), (200, "8"));
        assert_eq!(server.app.scene.greeted(), 5);
        // It is in the report as well.
        let report = caller.send(&Request::get("/throttled?format=json").ours()).await.json();
        assert_eq!(report["callers"][0]["refused"], 3);
    }

    /// Own services never wait for a store, nor does what is skipped.
    async fn own_services_never_wait(stage) {
        for behaves in [Behaves::Holds, Behaves::IsAway] {
            let store = Store::new(behaves);
            let app = App { rule: Some(Rule::ByFields), ..stage.shared(&store).into() };
            let server = stage.serve(app).await;
            let caller = server.caller(1);
            let reply = caller.send(&Request::get("/internal").ours()).await;
            assert_eq!((reply.status, reply.text(), reply.tells_nothing()), (200, "ours", true));
            assert_eq!(caller.repeat(&Request::get("/").token(TOKEN), 20).await, [200; 20]);
            assert_eq!(caller.send(&Request::get("/").field("x-skip", "1")).await.status, 200);
            assert_eq!(store.asked(), 0);
        }
    }

    /// What is refused since the store can't be reached is the server's failure: 503, and when to come back.
    async fn an_unreachable_store_is_503(stage) {
        let (server, _) = stage.serve_shared(Behaves::IsAway).await;
        let caller = server.caller(1);
        let reply = caller.get("/").await;
        assert_eq!((reply.status, reply.line("retry-after"), reply.line("cache-control")), (503, "1", "no-store"));
        assert_eq!(reply.line("ratelimit-policy"), r#""default";q=5;w=60"#);
        // Nobody knows what remains.
        assert!(reply.lines("ratelimit").is_empty());
        let problem = reply.json();
        assert_eq!(problem["status"], 503);
        assert!(problem["type"].as_str().unwrap().ends_with("#temporary-reduced-capacity"), "{problem}");
        let grpc = caller.send(&Request::post("/", "").field("content-type", "application/grpc")).await;
        assert_eq!((grpc.status, grpc.line("grpc-status")), (200, "14"));
        assert_eq!(server.app.scene.greeted(), 0);
    }

    /// Who goes away while it waits for a store has nothing under way any more.
    async fn giving_up_while_waiting(stage) {
        let store = Store::new(Behaves::Holds);
        let server = stage.serve(stage.shared(&store).in_flight(1)).await;
        let caller = server.caller(1);
        for _ in 0..2 {
            let mut connection = caller.connect().await;
            connection.write(&Request::get("/").bytes()).await;
            store.arrived(1).await;
            // It is under way while it waits.
            assert_eq!(caller.get("/").await.status, 429);
            connection.break_off();
            // Once there is room again, somebody else gets through to the store.
            let mut others = caller.connect().await;
            loop {
                others.write(&Request::get("/").bytes()).await;
                tokio::select! {
                    () = store.arrived(1) => break,
                    reply = others.reply("GET") => assert_eq!(reply.unwrap().status, 429),
                }
            }
            store.let_go(1);
            assert_eq!(others.reply("GET").await.unwrap().status, 200);
        }
        assert_eq!(server.app.scene.greeted(), 2);
    }

    /// A store is given back what a response makes free, and the response says so.
    async fn stores_are_given_back(stage) {
        for behaves in [Behaves::Knows, Behaves::Answers] {
            let store = Store::new(behaves);
            let server = stage.serve(stage.shared(&store).charge_if(|status| status >= 500)).await;
            let caller = server.caller(1);
            for _ in 0..7 {
                assert_eq!(caller.get("/").await.line("ratelimit"), r#""default";r=5"#);
            }
            assert_eq!(caller.statuses("/status/500", 6).await, [500, 500, 500, 500, 500, 429]);
        }
    }

    /// Costs, classes, callers and scopes hold in a store; several policies are charged all or nothing.
    async fn terms_with_a_store(stage) {
        let store = Store::new(Behaves::Answers);
        let gate = stage.shared(&store).class("paid", Quota::per_minute(20));
        let gate = gate.policy(Policy::new("network", Quota::per_minute(30)).v4_prefix(24));
        let server = stage.serve(App { rule: Some(Rule::ByFields), ..gate.into() }).await;
        let (one, other) = (server.caller(1), server.caller(2));
        let cost = |cost: &str| Request::get("/").field("x-cost", cost);
        let reply = one.send(&cost("3")).await;
        assert_eq!(reply.line("ratelimit"), r#""default";r=2;t=60"#);
        assert_eq!([one.send(&cost("3")).await.status, one.send(&cost("2")).await.status], [429, 200]);
        let paid = |cost: &str| Request::get("/").field("x-class", "paid").field("x-cost", cost);
        let reply = other.send(&paid("20")).await;
        assert_eq!((reply.status, reply.line("ratelimit")), (200, r#""paid";r=0;t=60"#));
        assert_eq!(one.send(&Request::get("/").field("x-scope", "exports").field("x-cost", "5")).await.status, 200);
        // The network's thirty are used up, and its refusals are charged to nobody.
        let named = Request::get("/").field("x-caller", "somebody");
        let reply = other.send(&named).await;
        assert_eq!((reply.status, reply.json()["violated-policies"][0].as_str()), (429, Some("network")));
        assert_eq!(server.caller_from([127, 255, 255, 1].into()).send(&named).await.status, 200);
    }

    /// In shadow mode a store counts and refuses nobody, and off it is not asked.
    async fn stores_in_other_modes(stage) {
        let store = Store::new(Behaves::Answers);
        let server = stage.serve(stage.shared(&store).mode(Mode::Shadow)).await;
        let caller = server.caller(1);
        assert_eq!((caller.statuses("/", 8).await, store.asked()), (vec![200; 8], 8));
        server.app.gate.set_mode(Mode::Off);
        assert_eq!((caller.statuses("/", 3).await, store.asked()), (vec![200; 3], 8));
        server.app.gate.set_mode(Mode::Enforce);
        assert_eq!((caller.statuses("/", 3).await, store.asked()), (vec![429; 3], 11));
    }
}
