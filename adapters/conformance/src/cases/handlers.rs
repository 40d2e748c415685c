//! What handlers are told.

use serde_json::json;
use tollgate_http::{Mode, Quota};

use crate::app::App;
use crate::case::cases;
use crate::request::Request;
use crate::rule::Rule;

cases! {
    /// Handlers are handed who calls, from where, and what remains.
    async fn handlers_are_told(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let address = caller.address.to_string();
        let told = |service: Option<&str>, forged: bool, remaining: Option<u32>| {
            json!({
                "decided": true, "service": service, "forged": forged, "address": address,
                "key": format!("{address}/32"), "counted": remaining.is_some(), "over": false,
                "remaining": remaining, "credential": service.is_some() || forged,
            })
        };
        assert_eq!(caller.get("/decision").await.json(), told(None, false, Some(4)));
        let forged = Request::get("/decision").token("made up");
        assert_eq!(caller.send(&forged).await.json(), told(None, true, Some(3)));
        assert_eq!(
            caller.send(&Request::get("/decision").ours()).await.json(),
            told(Some("edge"), false, None)
        );
    }

    /// Handlers are handed the same by HTTP/2.
    async fn handlers_are_told_by_http2(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let told = caller.http2().await.send(&Request::get("/decision")).await.json();
        assert_eq!(told["address"], json!(caller.address));
        assert_eq!((&told["remaining"], &told["counted"]), (&json!(4), &json!(true)));
    }

    /// With several limiters around it a handler is told the innermost's decision.
    async fn the_innermost_decides(stage) {
        let outer = stage.gate(Quota::per_hour(100)).policy_name("outer").build().unwrap();
        let server = stage.serve(App { outer: Some(outer.into()), ..stage.five().into() }).await;
        assert_eq!(server.caller(1).get("/decision").await.json()["remaining"], 4);
    }

    /// In shadow mode a handler is told that the request would have been refused.
    async fn handlers_are_told_of_shadow_refusals(stage) {
        let server = stage.serve(stage.five().mode(Mode::Shadow)).await;
        let caller = server.caller(1);
        caller.statuses("/", 5).await;
        let told = caller.get("/decision").await.json();
        assert_eq!((&told["over"], &told["counted"]), (&json!(true), &json!(true)));
    }

    /// A request that is skipped is told as uncounted, and is still known for a service's.
    async fn handlers_are_told_of_skips(stage) {
        let server = stage.serve(App { rule: Some(Rule::ByFields), ..stage.five().into() }).await;
        let told = server.caller(1).send(&Request::get("/decision").field("x-skip", "1").ours()).await.json();
        assert_eq!((&told["counted"], &told["service"]), (&json!(false), &json!("edge")));
    }
}
