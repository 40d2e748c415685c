//! What becomes of requests that pass: charged or not, under way or no longer.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, Error, HttpServer, web};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tollgate_actix_web::{GateBuilder, Tollgate};
use tollgate_conformance::{Caller, five};

use crate::support::{built, routes};

#[derive(Debug, PartialEq)]
enum Event {
    Begun,
    /// The handler and the limiter's future are gone.
    Over,
}

/// A server with a handler that waits, and what becomes of it.
struct Slow {
    server: SocketAddr,
    events: mpsc::UnboundedReceiver<Event>,
    go: Arc<Semaphore>,
}

/// Tells that it is dropped.
struct Guard(mpsc::UnboundedSender<Event>);

impl Drop for Guard {
    fn drop(&mut self) {
        // Nobody may listen any more.
        let _ = self.0.send(Event::Over);
    }
}

/// Around the limiter: its future is dropped before the guard.
async fn watch(
    events: web::ThinData<mpsc::UnboundedSender<Event>>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let _guard = Guard(events.0.clone());
    next.call(request).await
}

fn slow(gate: GateBuilder, half_closed: bool) -> Slow {
    let gate = built(gate);
    let (told, events) = mpsc::unbounded_channel();
    let go = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&go);
    let app = move || {
        let (began, waits) = (told.clone(), Arc::clone(&waits));
        let wait = move || {
            let waits = Arc::clone(&waits);
            began.send(Event::Begun).unwrap();
            async move {
                waits.acquire().await.unwrap().forget();
                "slow"
            }
        };
        App::new()
            .app_data(web::ThinData(told.clone()))
            .route("/slow", web::get().to(wait))
            .configure(routes(&gate))
            .wrap(Tollgate::new(Arc::clone(&gate)))
            .wrap(from_fn(watch))
    };
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = listener.local_addr().unwrap();
    let http = HttpServer::new(app).workers(2).disable_signals().h1_allow_half_closed(half_closed);
    tokio::spawn(http.listen(listener).unwrap().run());
    Slow { server, events, go }
}

impl Slow {
    /// Asks for what takes its time, until it is under way.
    async fn ask(&mut self) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 1, 0, 1), 0).into()).unwrap();
        let mut stream = socket.connect(self.server).await.unwrap();
        stream.write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        assert_eq!(self.events.recv().await, Some(Event::Begun));
        stream
    }
}

/// A client that is gone before its response is there has paid, and is no longer under way.
async fn paid_and_gone(slow: &mut Slow) {
    assert_eq!(slow.events.recv().await, Some(Event::Over));
    // One of two is free again; of five, one is charged.
    let caller = Caller::from(1, slow.server);
    let reply = caller.get("/nowhere").await;
    assert_eq!((reply.status, reply.lines("ratelimit")), (404, vec![r#""default";r=3;t=60"#]));
}

#[tokio::test]
async fn a_client_that_resets_its_connection_has_paid_and_is_no_longer_under_way() {
    let mut slow = slow(five().0.in_flight(1).charge_if(|status| status >= 400), true);
    let stream = slow.ask().await;
    stream.set_zero_linger().unwrap();
    drop(stream);
    paid_and_gone(&mut slow).await;
}

#[tokio::test]
async fn a_client_that_closes_has_paid_where_half_closed_connections_are_not_kept() {
    let mut slow = slow(five().0.in_flight(1).charge_if(|status| status >= 400), false);
    drop(slow.ask().await);
    paid_and_gone(&mut slow).await;
}

#[tokio::test]
async fn a_client_that_closes_is_answered_and_settled_where_they_are() {
    let mut slow = slow(five().0.in_flight(1).charge_if(|status| status >= 400), true);
    drop(slow.ask().await);
    slow.go.add_permits(1);
    assert_eq!(slow.events.recv().await, Some(Event::Over));
    let reply = Caller::from(1, slow.server).get("/nowhere").await;
    assert_eq!((reply.status, reply.lines("ratelimit")), (404, vec![r#""default";r=4;t=60"#]));
}
