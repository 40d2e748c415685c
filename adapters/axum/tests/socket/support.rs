//! A server on a loopback port, and callers from loopback addresses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, Method, Request};
use axum::routing::get;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tollgate_axum::{Clock, Gate, GateBuilder, ManualClock, Quota, RequireInternalLayer, TollgateLayer};

pub(crate) const TOKEN: &str = "the-internal-token-of-32-bytes..";
pub(crate) const HEADER: &str = "x-internal-token";

/// A gate with a limit of five a minute, and its clock.
pub(crate) fn five() -> (GateBuilder, ManualClock) {
    let clock = ManualClock::new();
    let gate = Gate::builder(Quota::per_minute(5)).service("edge", TOKEN).clock(Clock::Manual(clock.clone()));
    (gate, clock)
}

/// An API with a public and an internal route behind a gate.
pub(crate) fn api(gate: &Arc<Gate>) -> Router {
    Router::new()
        .route("/internal", get(|| async { "ours" }))
        .route_layer(RequireInternalLayer::new(Arc::clone(gate)))
        .route("/", get(|| async { "hello" }))
        .layer(TollgateLayer::new(Arc::clone(gate)))
}

/// Serves as a user of axum does; the server ends with the test's runtime.
pub(crate) async fn serve(app: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

/// Somebody who calls a server from an address of its own.
#[derive(Clone)]
pub(crate) struct Caller {
    client: Client<HttpConnector, Body>,
    server: SocketAddr,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Caller {
    pub(crate) fn from(host: u8, server: SocketAddr) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_local_address(Some(IpAddr::V4(Ipv4Addr::new(127, 1, 0, host))));
        Self { client: Client::builder(TokioExecutor::new()).build(connector), server }
    }

    pub(crate) async fn call(&self, method: Method, path: &str, fields: &[(&str, &str)]) -> Reply {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method;
        *request.uri_mut() = format!("http://{}{path}", self.server).parse().unwrap();
        for (name, value) in fields {
            request.headers_mut().append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let (parts, body) = self.client.request(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, path, &[]).await
    }

    pub(crate) async fn get_with(&self, path: &str, token: &str) -> Reply {
        self.call(Method::GET, path, &[(HEADER, token)]).await
    }

    /// The statuses of several plain requests, one after the other.
    pub(crate) async fn statuses(&self, path: &str, requests: usize) -> Vec<u16> {
        let mut statuses = Vec::new();
        for _ in 0..requests {
            statuses.push(self.get(path).await.status);
        }
        statuses
    }
}

impl Reply {
    /// All lines of a field.
    pub(crate) fn lines(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect()
    }
}
