//! A server on a loopback port.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::{App, Error, HttpServer, web};
use tollgate_actix_web::{Gate, GateBuilder, RequireInternalLayer, Tollgate};

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
