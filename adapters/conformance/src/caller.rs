use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tollgate_http::{Clock, Gate, GateBuilder, ManualClock, Quota};

use crate::app::TOKEN;

/// Somebody who calls a server from an address of its own, for an adapter's own tests.
#[derive(Clone, Debug)]
pub struct Caller {
    client: Client<HttpConnector, Full<Bytes>>,
    server: SocketAddr,
}

impl Caller {
    /// From the loopback address 127.1.0.`host`.
    pub fn from(host: u8, server: SocketAddr) -> Self {
        Self::speaking(host, server, false)
    }

    /// One that speaks HTTP/2 by prior knowledge, over one connection.
    pub fn over_http2(host: u8, server: SocketAddr) -> Self {
        Self::speaking(host, server, true)
    }

    fn speaking(host: u8, server: SocketAddr, is_http2: bool) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_local_address(Some(IpAddr::V4(Ipv4Addr::new(127, 1, 0, host))));
        Self { client: Client::builder(TokioExecutor::new()).http2_only(is_http2).build(connector), server }
    }

    /// Sends a request, and receives the whole response.
    ///
    /// # Panics
    /// If there is none, or a field can't be sent.
    pub async fn send(&self, method: Method, path: &str, fields: &[(&str, &str)], body: Bytes) -> Received {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = format!("http://{}{path}", self.server).parse().unwrap();
        for (name, value) in fields {
            request.headers_mut().append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let (parts, body) = self.client.request(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap();
        let trailers = body.trailers().cloned();
        Received { status: parts.status.as_u16(), headers: parts.headers, body: body.to_bytes(), trailers }
    }

    /// Sends a request without a body.
    pub async fn call(&self, method: Method, path: &str, fields: &[(&str, &str)]) -> Received {
        self.send(method, path, fields, Bytes::new()).await
    }

    /// Sends a plain request.
    pub async fn get(&self, path: &str) -> Received {
        self.call(Method::GET, path, &[]).await
    }

    /// Sends a request with a credential.
    pub async fn get_with(&self, path: &str, token: &str) -> Received {
        self.call(Method::GET, path, &[(HEADER, token)]).await
    }

    /// The statuses of several plain requests, one after the other.
    pub async fn statuses(&self, path: &str, requests: usize) -> Vec<u16> {
        let mut statuses = Vec::new();
        for _ in 0..requests {
            statuses.push(self.get(path).await.status);
        }
        statuses
    }
}

/// The response that a [`Caller`] has received.
#[derive(Clone, Debug)]
pub struct Received {
    /// The status.
    pub status: u16,
    /// The fields.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// The fields behind the body, if there are any.
    pub trailers: Option<HeaderMap>,
}

impl Received {
    /// All lines of a field.
    ///
    /// # Panics
    /// If one is not of printable ASCII.
    pub fn lines(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect()
    }
}

/// The field of a credential, unless a gate is built with another.
pub const HEADER: &str = "x-internal-token";

/// A gate with a limit of five a minute and the service `edge`, and its clock, which stands still.
pub fn five() -> (GateBuilder, ManualClock) {
    let clock = ManualClock::new();
    let gate = Gate::builder(Quota::per_minute(5)).service("edge", TOKEN).clock(Clock::Manual(clock.clone()));
    (gate, clock)
}
