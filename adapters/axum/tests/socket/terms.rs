//! Requests on terms of their own, and gates around gates.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::{Method, Request};
use axum::middleware::{Next, from_fn, map_request};
use axum::response::Response;
use axum::routing::get;
use tollgate_axum::{Gate, Quota, RequireInternalLayer, TollgateLayer};
use tollgate_conformance::{Caller, TOKEN, five};
use tower::{Layer, Service};

use crate::support::serve;

#[derive(Clone)]
struct User(String);

// Abuse 35: what has not been verified is no key.
#[tokio::test]
async fn users_are_counted_as_such_and_strangers_by_address() {
    let gate = Gate::builder(Quota::per_minute(2)).class("paid", Quota::per_minute(4)).build().unwrap();
    let layer = TollgateLayer::new(gate).terms(|head, terms| match head.extensions.get::<User>() {
        Some(User(name)) if name.starts_with("paid") => terms.caller(name).class("paid"),
        Some(User(name)) => terms.caller(name),
        None => terms,
    });
    let authenticate = |mut request: Request<axum::body::Body>, next: Next| async {
        let user = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        if let Some(user) = user.and_then(|user| user.strip_prefix("valid ")) {
            let user = User(user.to_owned());
            request.extensions_mut().insert(user);
        }
        next.run(request).await
    };
    let app = Router::new().route("/", get(|| async {})).layer(layer).layer(from_fn(authenticate));
    let server = serve(app).await;
    let passed = async |host, user: &str| {
        let (caller, mut passed) = (Caller::from(host, server), 0);
        for _ in 0..10 {
            let reply = caller.call(Method::GET, "/", &[("authorization", user)]).await;
            passed += usize::from(reply.status == 200);
        }
        passed
    };
    assert_eq!(passed(1, "valid one").await, 2);
    assert_eq!(passed(2, "valid one").await, 0, "from another address it is the same user");
    assert_eq!(passed(1, "valid paid").await, 4);
    assert_eq!(passed(1, "made up").await, 2);
    assert_eq!(passed(1, "made up afresh").await, 0);
}

// An outer gate protects what stands between it and an inner one, unless it is told otherwise.
#[tokio::test]
async fn whoever_is_over_the_inner_limit_uses_up_the_outer_one() {
    let outer = Gate::builder(Quota::per_minute(5)).policy_name("outer").build().unwrap();
    let inner = Gate::builder(Quota::per_minute(1)).policy_name("inner").build().unwrap();
    let reached = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reached);
    let between = map_request(move |request: Request<axum::body::Body>| {
        count.fetch_add(1, Ordering::Relaxed);
        async { request }
    });
    let app = Router::new()
        .route("/", get(|| async {}))
        .layer(TollgateLayer::new(inner))
        .layer(between)
        .layer(TollgateLayer::new(outer));
    let caller = Caller::from(1, serve(app).await);
    assert_eq!(caller.statuses("/", 20).await.iter().filter(|status| **status == 200).count(), 1);
    assert_eq!(reached.load(Ordering::Relaxed), 5);
}

// The incident again, were an inner gate not to see the credential that an outer one has taken.
#[tokio::test]
async fn a_credential_that_is_taken_is_seen_by_gates_and_guards_inside() {
    let outer = || five().0.strip_credential().build().unwrap();
    let (stranger, same) = (five().0.build().unwrap(), Arc::new(outer()));
    let other = Gate::builder(Quota::per_minute(100)).policy_name("knows nobody").build().unwrap();
    let guarded = |layer| Router::new().route("/", get(|| async {})).route_layer(layer);
    let layers = [
        guarded(RequireInternalLayer::new(Arc::clone(&same)))
            .layer(TollgateLayer::new(stranger))
            .layer(TollgateLayer::new(Arc::clone(&same))),
        guarded(RequireInternalLayer::new(Arc::clone(&same)))
            .layer(TollgateLayer::new(Arc::clone(&same)))
            .layer(TollgateLayer::new(Arc::clone(&same))),
        guarded(RequireInternalLayer::new(Arc::clone(&same)))
            .layer(TollgateLayer::new(other))
            .layer(TollgateLayer::new(same)),
    ];
    for (host, app) in (1..).zip(layers) {
        let caller = Caller::from(host, serve(app).await);
        for _ in 0..20 {
            assert_eq!(caller.get_with("/", TOKEN).await.status, 200, "stack {host}");
        }
        assert_eq!(caller.get_with("/", "a made-up token").await.status, 401);
    }
}

// A failure that is no response is our own, too.
#[tokio::test]
async fn an_error_inside_is_given_back_as_a_failure() {
    let gate = Arc::new(five().0.charge_if(|status| status < 500).build().unwrap());
    let fail = tower::service_fn(|_: Request<()>| async { Err::<Response, _>("timed out") });
    let mut service = TollgateLayer::new(Arc::clone(&gate)).layer(fail);
    for _ in 0..100 {
        let peer: std::net::SocketAddr = "203.0.113.7:1".parse().unwrap();
        let request = Request::builder().extension(tollgate_axum::ConnectInfo(peer)).body(()).unwrap();
        assert_eq!(service.call(request).await.unwrap_err(), "timed out");
    }
}
