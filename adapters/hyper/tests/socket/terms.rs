//! Requests on terms of their own.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper::{Method, Request};
use tollgate_conformance::{Caller, TOKEN, five};
use tollgate_hyper::{Head, Quota, Terms, Tollgate};

use crate::support::{Api, serve, serve_each};

/// A user whom authentication has named.
#[derive(Clone)]
struct User(String);

fn terms<'g>(head: &Head<'_>, terms: Terms<'g>) -> Terms<'g> {
    let terms = match head.extensions.get::<User>() {
        Some(User(id)) if id.starts_with("paying") => terms.caller(id).class("paid"),
        Some(User(id)) => terms.caller(id),
        None => terms,
    };
    let terms = if head.method == Method::POST { terms.cost(2) } else { terms };
    match head.uri.path() {
        "/health" => terms.skip(),
        // Abuse 18: a budget is a route's, however its path is spelt.
        path if path.trim_matches('/').starts_with("export/") => terms.scope("/export/{number}"),
        _ if head.headers.contains_key("x-batch") => terms.cost(5),
        _ => terms,
    }
}

fn tollgate() -> (Tollgate, Api) {
    let gate = Arc::new(five().0.class("paid", Quota::per_minute(8)).build().unwrap());
    let api = Api::new(&gate);
    (Tollgate::new(gate).terms(terms), api)
}

#[tokio::test]
async fn costs_scopes_and_skips() {
    let (tollgate, api) = tollgate();
    let server = serve(&tollgate, api).await;
    let caller = Caller::from(1, server);
    for _ in 0..20 {
        let health = caller.get("/health").await;
        assert_eq!((health.status, health.lines("ratelimit")), (404, vec![]));
    }
    let post = |_| caller.call(Method::POST, "/", &[]);
    assert_eq!(post(1).await.lines("ratelimit"), [r#""default";r=3;t=60"#]);
    assert_eq!(post(2).await.lines("ratelimit"), [r#""default";r=1;t=60"#]);
    assert_eq!(post(3).await.status, 429);
    assert_eq!(caller.statuses("/", 2).await, [200, 429]);
    for (path, remaining) in [("/export/1", 4), ("/export/2", 3), ("//export/%32", 2)] {
        assert_eq!(caller.get(path).await.lines("ratelimit"), [format!("\"default\";r={remaining};t=60")]);
    }
    let batch = Caller::from(2, server).call(Method::GET, "/", &[("x-batch", "5")]).await;
    assert_eq!(batch.lines("ratelimit"), [r#""default";r=0;t=60"#]);
}

#[tokio::test]
async fn users_and_classes_of_them() {
    let (tollgate, api) = tollgate();
    let make = move |peer: SocketAddr| {
        let limited = tollgate.wrap(api.clone(), Some(peer.ip()));
        service_fn(move |mut request: Request<Incoming>| {
            let user = request.headers().get("x-user").map(|user| User(user.to_str().unwrap().into()));
            user.map(|user| request.extensions_mut().insert(user));
            limited.call(request)
        })
    };
    let server = serve_each(make).await;
    let (here, there) = (Caller::from(1, server), Caller::from(2, server));
    let user = |id| [("x-user", id)];
    for (index, caller) in [&here, &there, &here, &there, &here].into_iter().enumerate() {
        let reply = caller.call(Method::GET, "/", &user("ann")).await;
        assert_eq!(reply.lines("ratelimit"), [format!("\"default\";r={};t=60", 4 - index)]);
    }
    assert_eq!(there.call(Method::GET, "/", &user("ann")).await.status, 429, "wherever she is");
    let paying = there.call(Method::GET, "/", &user("paying bob")).await;
    assert_eq!(paying.lines("ratelimit-policy"), [r#""paid";q=8;w=60"#]);
    assert_eq!(paying.lines("ratelimit"), [r#""paid";r=7;t=60"#]);
    assert_eq!(here.statuses("/", 6).await, [200, 200, 200, 200, 200, 429], "strangers go by address");
}

// Abuse 27: logs never contain secrets.
#[tokio::test]
async fn a_head_that_is_logged_shows_no_secret() {
    let gate = Arc::new(five().0.build().unwrap());
    let tollgate = Tollgate::new(Arc::clone(&gate)).terms(|head, terms| {
        let shown = format!("{head:?}");
        assert!(shown.contains("GET") && shown.contains("/internal") && !shown.contains(TOKEN), "{shown}");
        terms
    });
    assert!(!format!("{tollgate:?}").contains(TOKEN));
    let caller = Caller::from(1, serve(&tollgate, Api::new(&gate)).await);
    assert_eq!(caller.get_with("/internal", TOKEN).await.body, "hello, edge");
}
