//! Routes for our own services.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::{Service, service_fn};
use hyper::{Method, Request, Response};
use tollgate_conformance::{Caller, HEADER, TOKEN, five};
use tollgate_hyper::{RequireInternal, Tollgate};

use crate::support::{Api, serve, serve_api, serve_each};

async fn ours(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new("ours".into()))
}

#[tokio::test]
async fn the_function_needs_no_gate_around_it() {
    let gate = Arc::new(five().0.build().unwrap());
    let caller = Caller::from(1, serve_each(move |_| Api::new(&gate)).await);
    assert_eq!(caller.get_with("/internal", TOKEN).await.body, "hello, edge");
    for _ in 0..20 {
        assert_eq!(caller.get("/internal").await.status, 401, "a guard alone limits nobody");
    }
    let forged = caller.get_with("/internal", "made up").await;
    assert_eq!(forged.status, 401);
    assert_eq!(forged.lines("www-authenticate"), [r#"Token realm="internal", header="x-internal-token""#]);
    let twice = [(HEADER, TOKEN), (HEADER, TOKEN)];
    assert_eq!(caller.call(Method::GET, "/internal", &twice).await.status, 401);
}

#[tokio::test]
async fn the_service_needs_no_gate_around_it() {
    let guard = RequireInternal::new(service_fn(ours), five().0.bearer().build().unwrap());
    let caller = Caller::from(1, serve_each(move |_| guard.clone()).await);
    let bearer = format!("bearer {TOKEN}");
    let own = caller.call(Method::GET, "/", &[("authorization", &bearer)]).await;
    assert_eq!((own.status, own.body), (200, "ours".into()));
    let plain = caller.get_with("/", TOKEN).await;
    assert_eq!((plain.status, plain.lines("www-authenticate")), (401, vec![r#"Bearer realm="internal""#]));
    assert!(plain.body.starts_with(b"This route is for our own services"));
}

#[tokio::test]
async fn the_service_heeds_the_gate_around_it() {
    let gate = Arc::new(five().0.build().unwrap());
    let guard = RequireInternal::new(service_fn(ours), Arc::clone(&gate));
    // The credential is gone when the guard looks, so that it must have heeded the decision.
    let forgetful = service_fn(move |mut request: Request<Incoming>| {
        request.headers_mut().remove(HEADER);
        guard.call(request)
    });
    let caller = Caller::over_http2(1, serve(&Tollgate::new(gate), forgetful).await);
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(caller.get_with("/", "made up").await.status);
        assert_eq!(caller.get_with("/", TOKEN).await.body, "ours");
    }
    statuses.push(caller.get_with("/", "made up").await.status);
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429]);
}

#[tokio::test]
async fn the_service_answers_head_without_a_body() {
    let guard = RequireInternal::new(service_fn(ours), five().0.build().unwrap());
    let caller = Caller::over_http2(1, serve_each(move |_| guard.clone()).await);
    let reply = caller.call(Method::HEAD, "/", &[]).await;
    assert_eq!((reply.status, reply.body.len()), (401, 0));
    let length = caller.get("/").await.body.len();
    assert_eq!(reply.lines("content-length"), [length.to_string()]);
}

// Abuse 27: what a handler does not see it can't log or pass on.
#[tokio::test]
async fn handlers_see_no_credential_if_it_is_stripped() {
    async fn lines(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let fields = [HEADER, "authorization"].map(|name| request.headers().get_all(name).iter().count());
        Ok(Response::new(format!("{fields:?}").into()))
    }
    let sent = [(HEADER, TOKEN), ("authorization", "Bearer a-user-s")];
    for (gate, seen) in [
        (five().0, "[1, 1]"),
        (five().0.strip_credential(), "[0, 1]"),
        (five().0.bearer().strip_credential(), "[1, 1]"),
    ] {
        let caller = Caller::from(1, serve(&Tollgate::new(gate.build().unwrap()), service_fn(lines)).await);
        assert_eq!(caller.call(Method::GET, "/", &sent).await.body, seen);
    }
    let stripped = five().0.strip_credential().build().unwrap();
    let caller = Caller::from(1, serve(&Tollgate::new(stripped), service_fn(lines)).await);
    assert_eq!(caller.get_with("/", "made up").await.body, "[0, 0]");
    let twice = [(HEADER, TOKEN), (HEADER, "made up")];
    assert_eq!(caller.call(Method::GET, "/", &twice).await.body, "[0, 0]");
    let api = Caller::from(1, serve_api(&Arc::new(five().0.strip_credential().build().unwrap())).await);
    assert_eq!(api.get_with("/internal", TOKEN).await.body, "hello, edge");
}
