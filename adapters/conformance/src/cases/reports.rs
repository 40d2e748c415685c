//! The report of throttled callers.

use serde_json::json;
use tollgate_http::{Addresses, Mode};

use crate::app::TOKEN;
use crate::case::cases;
use crate::request::Request;
use crate::stage::{Caller, Stage};

const ROUTE: &str = "/throttled";
/// `on-call` and the secret of the service `edge`.
const BASIC: &str = "Basic b24tY2FsbDp0aGUtaW50ZXJuYWwtdG9rZW4tb2YtMzItYnl0ZXMuLg==";

/// A server whose report names callers in full, and one caller of it that was refused 15 times.
async fn with_one_refused(stage: &Stage) -> (Caller, Caller) {
    let server = stage.serve(stage.five().addresses(Addresses::Shown)).await;
    let (refused, asking) = (server.caller(1), server.caller(2));
    refused.statuses("/", 20).await;
    (refused, asking)
}

cases! {
    /// The report of throttled callers is shown to our own services, and to nobody else.
    async fn the_report_needs_a_credential(stage) {
        let (refused, asking) = with_one_refused(&stage).await;
        let forged = BASIC.replace("b24tY2Fs", "b24tY2FsbDpi");
        for request in [
            Request::get(ROUTE),
            Request::get(ROUTE).token("made up"),
            Request::get(ROUTE).ours().ours(),
            Request::get(ROUTE).field("authorization", forged),
            Request::get(ROUTE).field("authorization", BASIC).field("authorization", BASIC),
        ] {
            // Each as a newcomer.
            stage.pass(61.0);
            let reply = asking.send(&request).await;
            assert_eq!((reply.status, reply.line("cache-control")), (401, "no-store"));
            let challenges = reply.lines("www-authenticate");
            assert!(challenges.iter().any(|challenge| challenge.starts_with("Token realm=")), "{reply:?}");
            assert!(challenges.iter().any(|challenge| challenge.starts_with("Basic realm=")), "{reply:?}");
            assert!(!reply.text().contains(&refused.address.to_string()), "{reply:?}");
        }
    }

    /// A person's browser may present a service's secret as a password.
    async fn the_report_takes_a_password(stage) {
        let (refused, asking) = with_one_refused(&stage).await;
        let request = Request::get(ROUTE).field("authorization", BASIC).field("accept", "application/json");
        let reply = asking.send(&request).await;
        assert_eq!((reply.status, &reply.json()["callers"][0]["address"]), (200, &json!(refused.address)));
        // It exempts nobody: it stands in no gate's field.
        assert_eq!(asking.repeat(&request, 5).await, [200, 200, 200, 200, 429]);
    }

    /// As JSON, the report has each throttled caller with its count and what it looks like.
    async fn the_report_as_json(stage) {
        let gate = stage.five().addresses(Addresses::Shown).internal_route("/internal").mode(Mode::Shadow);
        let server = stage.serve(gate).await;
        server.caller(1).statuses("/", 20).await;
        // The adapter has to say what the path is, whatever follows it.
        server.caller(2).statuses("/internal?page=2", 20).await;
        server.caller(3).repeat(&Request::get("/").token("rotated away"), 20).await;
        let asking = server.caller(9);
        let json = Request::get(ROUTE).ours().field("accept", "application/json");
        for request in [json, Request::get("/throttled?format=json").ours()] {
            let reply = asking.send(&request).await;
            assert_eq!((reply.status, reply.line("content-type")), (200, "application/json"));
            assert_eq!((reply.line("cache-control"), reply.line("x-content-type-options")), ("no-store", "nosniff"));
            let report = reply.json();
            assert_eq!((&report["mode"], &report["policies"][0]["limit"]), (&json!("shadow"), &json!(5)));
            let callers = report["callers"].as_array().unwrap();
            for (host, finding, clue) in [
                (1, "one caller", json!(null)),
                (2, "own service", json!("internal routes")),
                (3, "own service", json!("secret fails")),
            ] {
                let address = json!(server.caller(host).address);
                let caller = callers.iter().find(|caller| caller["address"] == address).unwrap();
                let told = (&caller["refused"], &caller["finding"], &caller["clue"]);
                assert_eq!(told, (&json!(15), &json!(finding), &clue), "{caller}");
            }
            assert_eq!(callers.len(), 3);
        }
    }

    /// As a page, the report is there without a second request and may load nothing from elsewhere.
    async fn the_report_as_a_page(stage) {
        let (refused, asking) = with_one_refused(&stage).await;
        let request = Request::get(ROUTE).ours().field("accept", "text/html,application/json;q=0.9,*/*;q=0.8");
        let replies = [asking.send(&request).await, asking.http2().await.send(&request).await];
        for reply in &replies {
            assert_eq!((reply.status, reply.line("content-type")), (200, "text/html; charset=utf-8"));
            assert_eq!((reply.line("cache-control"), reply.line("referrer-policy")), ("no-store", "no-referrer"));
            assert!(reply.line("content-security-policy").starts_with("default-src 'none'; "));
            assert!(reply.text().contains(&format!("\"address\":\"{}\"", refused.address)));
            assert!(!reply.text().contains(TOKEN));
        }
    }

    /// The report can be read, by GET and HEAD, and nothing else.
    async fn the_report_is_only_read(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        let heads = [
            caller.send(&Request::head(ROUTE).ours()).await,
            caller.http2().await.send(&Request::head(ROUTE).ours()).await,
        ];
        for head in heads {
            assert_eq!((head.status, head.line("cache-control"), &*head.body), (200, "no-store", &b""[..]));
            assert_eq!(head.line("content-type"), "text/html; charset=utf-8");
        }
        for method in ["POST", "PUT", "DELETE"] {
            let reply = caller.send(&Request::new(method, ROUTE).ours()).await;
            assert_eq!((reply.status, reply.line("allow"), reply.line("cache-control")), (405, "GET, HEAD", "no-store"));
            assert_eq!(caller.send(&Request::new(method, ROUTE)).await.status, 401);
        }
    }

    /// Where the limiter takes the credential from requests, the report knows it all the same.
    async fn the_report_knows_what_was_taken(stage) {
        let server = stage.serve(stage.five().strip_credential()).await;
        assert_eq!(server.caller(1).send(&Request::get(ROUTE).ours()).await.status, 200);
        assert_eq!(server.caller(1).send(&Request::get(ROUTE).token("made up")).await.status, 401);
    }
}
