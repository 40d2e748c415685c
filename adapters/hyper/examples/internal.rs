//! A service of its own type that routes by hand, with a route for our own services.
//! Try it with `INTERNAL_TOKEN=$(openssl rand -hex 32)` and `curl -i http://127.0.0.1:8080/internal`.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Ready, ready};
use std::io::Write;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::Service;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tollgate_hyper::{Gate, Quota, Tollgate, require_internal};

#[derive(Clone)]
struct Api {
    gate: Arc<Gate>,
}

impl Service<Request<Incoming>> for Api {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let mut response = Response::new(Full::default());
        match request.uri().path() {
            "/" => *response.body_mut() = "hello\n".into(),
            "/internal" => match require_internal(&self.gate, &request) {
                Ok(service) => *response.body_mut() = format!("hello, {service}\n").into(),
                Err(not_internal) => response = not_internal.into_response(),
            },
            _ => *response.status_mut() = StatusCode::NOT_FOUND,
        }
        ready(Ok(response))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let token = std::env::var("INTERNAL_TOKEN")?;
    let gate = Arc::new(Gate::builder(Quota::per_minute(5)).service("edge", token).build()?);
    let tollgate = Tollgate::new(gate.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    loop {
        let (stream, peer) = listener.accept().await?;
        let service = tollgate.wrap(Api { gate: gate.clone() }, Some(peer.ip()));
        tokio::spawn(async move {
            let server = auto::Builder::new(TokioExecutor::new());
            if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
                // If nobody reads it, the server goes on.
                let _ = writeln!(std::io::stderr(), "{peer}: {error}");
            }
        });
    }
}
