//! Servers on a loopback port, and connections to them.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Ready, ready};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::service::Service;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;
use tollgate_hyper::{Gate, Tollgate, TollgateService, require_internal};

/// An API with a public and an internal route, routed by hand.
#[derive(Clone)]
pub(crate) struct Api {
    gate: Arc<Gate>,
}

impl Api {
    pub(crate) fn new(gate: &Arc<Gate>) -> Self {
        Self { gate: Arc::clone(gate) }
    }
}

impl<B> Service<Request<B>> for Api {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn call(&self, request: Request<B>) -> Self::Future {
        ready(Ok(match request.uri().path() {
            // Over HTTP/2, hyper sends what it is given, and a body is an error of the protocol.
            "/" if request.method() == Method::HEAD => Response::new(Full::default()),
            "/" => Response::new("hello".into()),
            "/internal" => match require_internal(&self.gate, &request) {
                Ok(service) => Response::new(format!("hello, {service}").into()),
                Err(not_internal) => not_internal.into_response(),
            },
            _ => {
                let mut lost = Response::new(Full::default());
                *lost.status_mut() = StatusCode::NOT_FOUND;
                lost
            }
        }))
    }
}

/// The API behind the gate.
pub(crate) async fn serve_api(gate: &Arc<Gate>) -> SocketAddr {
    serve(&Tollgate::new(Arc::clone(gate)), Api::new(gate)).await
}

/// Serves a service behind a gate, as a user does.
pub(crate) async fn serve<S, B>(tollgate: &Tollgate, inner: S) -> SocketAddr
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>> + Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let tollgate = tollgate.clone();
    let wrap =
        move |peer: SocketAddr| -> TollgateService<S> { tollgate.wrap(inner.clone(), Some(peer.ip())) };
    serve_each(wrap).await
}

/// Serves each connection, of either version of HTTP, with what is made for its peer; ends with the test's runtime.
pub(crate) async fn serve_each<S, B>(make: impl Fn(SocketAddr) -> S + Send + 'static) -> SocketAddr
where
    S: Service<Request<Incoming>, Response = Response<B>> + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, peer) = listener.accept().await.unwrap();
            let service = make(peer);
            tokio::spawn(async move {
                // What a caller does wrong is seen in what it is answered.
                let server = auto::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    address
}

/// Waits for what a test waits for, and fails it if that never comes. Nothing depends on the time.
pub(crate) async fn soon<T>(awaited: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(30), awaited).await.expect("it comes")
}

/// A connection from an address of its own.
pub(crate) async fn connect(host: u8, server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 1, 0, host], 0).into()).unwrap();
    socket.connect(server).await.unwrap()
}
