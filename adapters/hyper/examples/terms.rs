//! Requests on terms of their own: exports cost more, users have budgets, those who pay a larger one, and health checks
//! are not counted. Try it with `curl -i -H 'authorization: Bearer alice' http://127.0.0.1:8080/export/7`.

use std::convert::Infallible;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tollgate_hyper::{Gate, Head, Quota, Terms, Tollgate};

#[derive(Clone)]
struct User {
    id: &'static str,
    pays: bool,
}

/// Stands for authentication: only a user who is known has a budget that is not its address's.
fn authenticate<B>(request: &Request<B>) -> Option<User> {
    let known =
        [("Bearer alice", User { id: "alice", pays: true }), ("Bearer bob", User { id: "bob", pays: false })];
    let token = request.headers().get("authorization")?;
    known.into_iter().find(|(known, _)| token == known).map(|(_, user)| user)
}

fn terms<'g>(head: &Head<'_>, terms: Terms<'g>) -> Terms<'g> {
    let terms = match head.extensions.get::<User>() {
        Some(user) if user.pays => terms.caller(user.id).class("paid"),
        Some(user) => terms.caller(user.id),
        None => terms,
    };
    match head.uri.path() {
        "/health" => terms.skip(),
        // The route's name, and not the path: the number would make a budget of each.
        path if path.starts_with("/export/") => terms.scope("/export/{number}").cost(10),
        _ => terms,
    }
}

async fn api(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    Ok(Response::new(format!("{}\n", request.uri().path())))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gate = Gate::builder(Quota::per_minute(60)).class("paid", Quota::per_minute(1_000)).build()?;
    let tollgate = Tollgate::new(gate).terms(terms);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    loop {
        let (stream, peer) = listener.accept().await?;
        let limited = tollgate.wrap(service_fn(api), Some(peer.ip()));
        // Authentication is outside of the gate, which goes by what it finds.
        let service = service_fn(move |mut request| {
            authenticate(&request).map(|user| request.extensions_mut().insert(user));
            limited.call(request)
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
