//! Servers that are not put together right, and what their logs say.
//!
//! Every test that logs an error is here, with a subscriber: `tracing` may take a line that is first reached on a thread
//! without one for disabled, at the very moment when another thread's test begins to listen.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{Request, Response};
use axum::routing::get;
use http_body_util::Full;
use tollgate_axum::{Decided, TollgateLayer};
use tollgate_conformance::{Caller, Log, TOKEN, five};
use tower::{Layer, ServiceExt};

use crate::support::{api, serve};

// Abuse 32: a missing peer address is a 500 that names the fix.
#[tokio::test]
async fn without_a_peer_the_answer_is_500_and_the_log_names_the_fix() {
    let log = Log::of_this_thread();
    let app = api(&Arc::new(five().0.build().unwrap()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // The mistake: no `into_make_service_with_connect_info`.
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let caller = Caller::from(1, address);
    let reply = caller.get("/").await;
    assert_eq!(reply.status, 500);
    assert!(!String::from_utf8_lossy(&reply.body).contains("connect_info"), "callers are told nothing");
    assert!(log.read().contains("ERROR"), "{}", log.read());
    assert!(log.read().contains("into_make_service_with_connect_info::<SocketAddr>()"), "{}", log.read());
    assert_eq!(
        caller.get_with("/internal", TOKEN).await.status,
        200,
        "whoever is not counted needs no address"
    );
}

#[tokio::test]
async fn without_a_peer_a_plain_tower_service_is_500_too() {
    let log = Log::of_this_thread();
    let inner = tower::service_fn(|_| ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))));
    let service = TollgateLayer::new(five().0.build().unwrap()).layer(inner);
    assert_eq!(service.oneshot(Request::new(())).await.unwrap().status(), 500);
    assert!(
        log.read().contains("put `ConnectInfo<SocketAddr>` into the request's extensions"),
        "{}",
        log.read()
    );
}

#[tokio::test]
async fn without_the_layer_the_extractor_is_500_and_the_log_names_the_fix() {
    let log = Log::of_this_thread();
    let maybe = |decided: Option<Decided>| async move { decided.is_some().to_string() };
    let app = Router::new().route("/", get(|_: Decided| async { "decided" })).route("/maybe", get(maybe));
    let caller = Caller::from(1, serve(app.clone()).await);
    assert_eq!(caller.get("/").await.status, 500);
    assert!(log.read().contains("put `TollgateLayer` around its route"), "{}", log.read());
    assert_eq!(caller.get("/maybe").await.body, "false");
    let with = app.layer(TollgateLayer::new(five().0.build().unwrap()));
    let caller = Caller::from(1, serve(with).await);
    assert_eq!((caller.get("/").await.status, caller.get("/maybe").await.body), (200, "true".into()));
}
