//! Terms, charges by outcome, requests under way, and what changes at run time, over sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::middleware::{Next, from_fn, map_request};
use axum::response::Response;
use axum::routing::get;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;
use tokio::sync::Semaphore;
use tollgate_axum::{
    Decided, Decision, Gate, Mode, Quota, RequireInternal, RequireInternalLayer, TollgateLayer,
};
use tollgate_conformance::{Caller, HEADER, TOKEN, five};
use tower::{Layer, Service};

use crate::support::serve;

#[tokio::test]
async fn spellings_of_a_path_share_the_matched_route_s_budget() {
    let gate = Arc::new(five().0.build().unwrap());
    let layer = TollgateLayer::new(gate).terms(|head, terms| match head.matched_path() {
        Some("/health") => terms.skip(),
        Some(route) => terms.scope(route),
        None => terms.scope("no route"),
    });
    let app = Router::new()
        .route("/users/{id}", get(|| async { "a user" }))
        .route("/groups/{id}", get(|| async { "a group" }))
        .route("/health", get(|| async { "well" }))
        .layer(layer);
    let caller = Caller::from(1, serve(app).await);
    let mut passed = 0;
    for path in ["/users/1", "/users/2", "/users/%31", "/users/1?x", "/users/1#y", "/users/a%2Fb", "/users/1"]
    {
        passed += usize::from(caller.get(path).await.status == 200);
    }
    assert_eq!(passed, 5);
    assert_eq!(caller.statuses("/groups/1", 6).await, [200, 200, 200, 200, 200, 429]);
    assert_eq!(caller.statuses("/health", 20).await, [200; 20]);
    for n in 0..7 {
        let status = caller.get(&format!("/no/such/{n}")).await.status;
        assert_eq!(status, if n < 5 { 404 } else { 429 });
    }
}

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

#[tokio::test]
async fn only_failed_logins_are_charged() {
    let gate = five().0.charge_if(|status| status == 401).build().unwrap();
    let login = |Path(password): Path<String>| async move {
        if password == "right" { StatusCode::OK } else { StatusCode::UNAUTHORIZED }
    };
    let app = Router::new().route("/login/{password}", get(login)).layer(TollgateLayer::new(gate));
    let caller = Caller::from(1, serve(app).await);
    assert_eq!(caller.statuses("/login/right", 20).await, [200; 20]);
    assert_eq!(caller.statuses("/login/wrong", 6).await, [401, 401, 401, 401, 401, 429]);
    assert_eq!(caller.get("/login/right").await.status, 429);
}

/// A handler that tells that it began and waits until it may go on.
#[derive(Clone)]
struct Gated {
    began: Arc<Semaphore>,
    may_end: Arc<Semaphore>,
}

async fn slow(State(gated): State<Gated>) -> &'static str {
    gated.began.add_permits(1);
    gated.may_end.acquire().await.unwrap().forget();
    "done"
}

#[tokio::test]
async fn clients_that_go_away_have_paid_and_are_no_longer_under_way() {
    let gate = Arc::new(five().0.in_flight(2).charge_if(|status| status >= 500).build().unwrap());
    let gated = Gated { began: Arc::new(Semaphore::new(0)), may_end: Arc::new(Semaphore::new(0)) };
    let app = Router::new()
        .route("/slow", get(slow))
        .with_state(gated.clone())
        .route("/", get(|| async {}))
        .layer(TollgateLayer::new(Arc::clone(&gate)));
    let server = serve(app).await;
    let caller = Caller::from(1, server);
    let mut gone = Vec::new();
    for _ in 0..2 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.1.0.1:0".parse().unwrap()).unwrap();
        let mut stream = socket.connect(server).await.unwrap();
        stream.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        gone.push(stream);
        gated.began.acquire().await.unwrap().forget();
    }
    let reply = caller.get("/").await;
    assert_eq!((reply.status, reply.lines("ratelimit")), (429, vec![r#""in-flight";r=0;t=1"#]));
    drop(gone);
    // The server notices in its own time; each try that passes is given back what it was charged.
    let reply = loop {
        let reply = caller.get("/").await;
        if reply.status == 200 {
            break reply;
        }
        tokio::task::yield_now().await;
    };
    // Two of five were charged and never settled.
    assert!(reply.lines("ratelimit")[0].contains("r=3;"), "{:?}", reply.lines("ratelimit"));
}

#[tokio::test]
async fn modes_and_quotas_change_while_it_serves() {
    let gate = Arc::new(five().0.build().unwrap());
    let over = |response: Response| async move {
        // What an outer layer sees.
        let over = response.extensions().get::<Decision>().is_some_and(Decision::is_over_limit);
        ([("x-over", if over { "yes" } else { "no" })], response)
    };
    let app = Router::new()
        .route("/", get(|| async {}))
        .layer(TollgateLayer::new(Arc::clone(&gate)))
        .layer(axum::middleware::map_response(over));
    let caller = Caller::from(1, serve(app).await);
    assert_eq!(caller.statuses("/", 6).await, [200, 200, 200, 200, 200, 429]);
    assert_eq!(caller.get("/").await.lines("x-over"), ["yes"]);
    gate.set_mode(Mode::Shadow);
    let reply = caller.get("/").await;
    assert_eq!((reply.status, reply.lines("x-over")), (200, vec!["yes"]));
    gate.set_mode(Mode::Off);
    let reply = caller.get("/").await;
    assert_eq!((reply.status, reply.lines("x-over"), reply.lines("ratelimit")), (200, vec!["no"], vec![]));
    gate.set_mode(Mode::Enforce);
    gate.set_quota("default", Quota::per_minute(7)).unwrap();
    assert_eq!(caller.statuses("/", 3).await, [200, 200, 429]);
    assert_eq!(caller.get("/").await.lines("ratelimit-policy"), [r#""default";q=7;w=60"#]);
}

#[tokio::test]
async fn a_credential_may_be_taken_from_the_request() {
    let seen = |Decided(decision): Decided, RequireInternal(service): RequireInternal, headers: HeaderMap| async move {
        format!("{service} {:?} {}", decision.identity().service(), headers.contains_key(HEADER))
    };
    for (strip, text) in [(true, "edge Some(\"edge\") false"), (false, "edge Some(\"edge\") true")] {
        let builder = five().0;
        let gate = Arc::new(if strip { builder.strip_credential() } else { builder }.build().unwrap());
        let app =
            Router::new().route("/", get(seen)).with_state(Arc::clone(&gate)).layer(TollgateLayer::new(gate));
        let reply = Caller::from(1, serve(app).await).get_with("/", TOKEN).await;
        assert_eq!(reply.body, text);
    }
    // Users' own tokens stay where services present theirs in the same field.
    let gate = Arc::new(five().0.bearer().strip_credential().build().unwrap());
    let seen = |headers: HeaderMap| async move { headers.contains_key("authorization").to_string() };
    let app = Router::new().route("/", get(seen)).layer(TollgateLayer::new(gate));
    let caller = Caller::from(1, serve(app).await);
    for (token, seen) in [(TOKEN, "false"), ("a-user-s-token-of-some-other-kind", "true")] {
        let token = format!("Bearer {token}");
        assert_eq!(caller.call(Method::GET, "/", &[("authorization", &token)]).await.body, seen);
    }
}

// Abuse 34: what the inner limit refuses, the outer one gives back.
#[tokio::test]
async fn a_request_that_is_refused_inside_is_charged_nowhere() {
    let outer =
        Gate::builder(Quota::per_minute(20)).policy_name("outer").refund_inner_refusals().build().unwrap();
    let inner = Gate::builder(Quota::per_minute(2)).policy_name("inner").build().unwrap();
    let app = Router::new()
        .route("/narrow", get(|| async {}))
        .layer(TollgateLayer::new(inner))
        .route("/", get(|| async {}))
        .layer(TollgateLayer::new(outer));
    let caller = Caller::from(1, serve(app).await);
    assert_eq!(caller.statuses("/narrow", 4).await, [200, 200, 429, 429]);
    let reply = caller.get("/narrow").await;
    assert_eq!(reply.lines("ratelimit").len(), 2);
    assert!(reply.lines("ratelimit")[0].starts_with("\"inner\";r=0;"), "{:?}", reply.lines("ratelimit"));
    assert!(reply.lines("ratelimit")[1].starts_with("\"outer\";r=18;"), "{:?}", reply.lines("ratelimit"));
    let reply = caller.get("/").await;
    assert!(reply.lines("ratelimit")[0].starts_with("\"outer\";r=17;"), "{:?}", reply.lines("ratelimit"));
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
