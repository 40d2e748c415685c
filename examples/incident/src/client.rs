//! Somebody who calls the API from an address of its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::{HeaderValue, Method, Request, StatusCode, Uri};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// The header that carries the internal token: the gate's default.
const HEADER: &str = "x-internal-token";

#[derive(Clone)]
pub(crate) struct Client {
    pool: Pool<HttpConnector, Full<Bytes>>,
    /// All that a name stands for, which are called in turn.
    servers: Arc<[SocketAddr]>,
    calls: Arc<AtomicUsize>,
}

/// One request.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) token: Option<HeaderValue>,
    pub(crate) body: &'static str,
}

impl Client {
    /// A client whose connections come from `address`, which on Linux may be any of 127.0.0.0/8.
    pub(crate) fn new(address: Ipv4Addr, servers: &[SocketAddr]) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_local_address(Some(IpAddr::V4(address)));
        connector.set_nodelay(true);
        let pool = Pool::builder(TokioExecutor::new()).build(connector);
        Self { pool, servers: servers.into(), calls: Arc::default() }
    }

    /// The status of the whole response, or why there is none.
    pub(crate) async fn call(&self, call: Call) -> Result<StatusCode, String> {
        // ORDERING: a number of calls, which orders nothing.
        let turn = self.calls.fetch_add(1, Ordering::Relaxed) % self.servers.len().max(1);
        let server = self.servers.get(turn).ok_or("there is no server")?;
        let uri =
            Uri::try_from(format!("http://{server}{}", call.path)).map_err(|error| error.to_string())?;
        let mut request = Request::new(Full::from(call.body));
        *request.method_mut() = call.method;
        *request.uri_mut() = uri;
        if let Some(token) = call.token {
            request.headers_mut().insert(HEADER, token);
        }
        let response = self.pool.request(request).await.map_err(|error| told(&error))?;
        let status = response.status();
        response.into_body().collect().await.map_err(|error| told(&error))?;
        Ok(status)
    }
}

/// An error with what it came from, since the pool's own says only that it could not connect.
fn told(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", told(source)),
        None => error.to_string(),
    }
}
