//! A server on a loopback port, and callers from loopback addresses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::{App, Error, HttpServer, web};
use http::{HeaderMap, HeaderName, Method, Request};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tollgate_actix_web::{Clock, Gate, GateBuilder, ManualClock, Quota, RequireInternalLayer, Tollgate};
use web::Bytes;

pub(crate) const TOKEN: &str = "the-internal-token-of-32-bytes..";
pub(crate) const HEADER: &str = "x-internal-token";

/// A gate with a limit of five a minute, and its clock.
pub(crate) fn five() -> (GateBuilder, ManualClock) {
    let clock = ManualClock::new();
    let gate = Gate::builder(Quota::per_minute(5)).service("edge", TOKEN).clock(Clock::Manual(clock.clone()));
    (gate, clock)
}

pub(crate) fn built(gate: GateBuilder) -> Arc<Gate> {
    Arc::new(gate.build().unwrap())
}

/// The parts of an API, with a public and an internal route.
pub(crate) fn routes(gate: &Arc<Gate>) -> impl FnOnce(&mut web::ServiceConfig) {
    let guard = RequireInternalLayer::new(Arc::clone(gate));
    |config| {
        config
            .service(web::resource("/internal").wrap(guard).to(|| async { "ours" }))
            .route("/", web::to(|| async { "hello" }));
    }
}

/// Serves the API behind the gate.
pub(crate) fn api(gate: &Arc<Gate>) -> SocketAddr {
    let gate = Arc::clone(gate);
    serve(move || App::new().configure(routes(&gate)).wrap(Tollgate::new(Arc::clone(&gate))))
}

/// Serves as a user of actix-web does, with four workers; the server ends with the tests.
pub(crate) fn serve<F, T, B>(app: F) -> SocketAddr
where
    F: Fn() -> App<T> + Send + Clone + 'static,
    T: ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse<B>,
            Error = Error,
            InitError = (),
        > + 'static,
    B: MessageBody + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(HttpServer::new(app).workers(WORKERS).disable_signals().listen(listener).unwrap().run());
    address
}

pub(crate) const WORKERS: usize = 4;

/// Somebody who calls a server from an address of its own.
#[derive(Clone)]
pub(crate) struct Caller {
    client: Client<HttpConnector, Empty<Bytes>>,
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
        let mut request = Request::new(Empty::new());
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
