//! Requests under way, those that are given up, and charges by outcome.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::AsyncWriteExt;
use tokio::sync::{Semaphore, mpsc};
use tollgate_conformance::{Caller, five};
use tollgate_hyper::{Gate, Tollgate};

use crate::support::{connect, serve, soon};

/// What a handler tells the test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Began,
    Answered,
    Dropped,
}

/// A service whose `/slow` waits until it is let go, and tells what becomes of it; other paths are statuses.
struct Slow {
    events: mpsc::UnboundedReceiver<Event>,
    go: Arc<Semaphore>,
    server: SocketAddr,
}

/// Tells when it is dropped.
struct Guard(mpsc::UnboundedSender<Event>);

impl Drop for Guard {
    fn drop(&mut self) {
        // The test may have failed and be gone.
        let _ = self.0.send(Event::Dropped);
    }
}

impl Slow {
    async fn serve(gate: Gate) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let go = Arc::new(Semaphore::new(0));
        let may_go = Arc::clone(&go);
        let service = service_fn(move |request: Request<Incoming>| {
            let (sender, go) = (sender.clone(), Arc::clone(&may_go));
            async move {
                let mut response = Response::new(Full::<Bytes>::default());
                if let Ok(status) = request.uri().path().trim_start_matches('/').parse() {
                    *response.status_mut() = StatusCode::from_u16(status).unwrap();
                    return Ok::<_, hyper::Error>(response);
                }
                let _guard = Guard(sender.clone());
                sender.send(Event::Began).unwrap();
                go.acquire().await.unwrap().forget();
                sender.send(Event::Answered).unwrap();
                Ok(response)
            }
        });
        let server = serve(&Tollgate::new(gate), service).await;
        Self { events, go, server }
    }

    async fn event(&mut self) -> Event {
        soon(self.events.recv()).await.unwrap()
    }
}

#[tokio::test]
async fn a_request_is_under_way_until_its_response_is_there() {
    let mut slow = Slow::serve(five().0.in_flight(2).build().unwrap()).await;
    let caller = Caller::from(1, slow.server);
    let waiting = [1, 2].map(|_| {
        let caller = caller.clone();
        tokio::spawn(async move { caller.get("/slow").await.status })
    });
    assert_eq!([slow.event().await, slow.event().await], [Event::Began; 2]);
    let refused = caller.get("/200").await;
    assert_eq!((refused.status, refused.lines("ratelimit")), (429, vec![r#""in-flight";r=0;t=1"#]));
    assert_eq!(Caller::from(2, slow.server).statuses("/200", 1).await, [200], "another caller has its own");
    slow.go.add_permits(2);
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap(), 200);
    }
    // Two were charged, and the one that was refused was not.
    assert_eq!(caller.statuses("/200", 4).await, [200, 200, 200, 429]);
}

#[tokio::test]
async fn who_hangs_up_has_paid_and_is_no_longer_under_way() {
    let gate = five().0.in_flight(1).charge_if(|status| status >= 400).build().unwrap();
    let mut slow = Slow::serve(gate).await;
    let caller = Caller::from(1, slow.server);
    for _ in 0..3 {
        let mut stream = connect(1, slow.server).await;
        stream.write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        assert_eq!(slow.event().await, Event::Began);
        assert_eq!(caller.statuses("/200", 1).await, [429], "it is under way");
        drop(stream);
        // The application's future is dropped, once, and with it what counts it.
        assert_eq!(slow.event().await, Event::Dropped);
    }
    // Three of five are charged although nothing failed; what succeeds is given back.
    let reply = caller.get("/200").await;
    assert_eq!((reply.status, reply.lines("ratelimit")), (200, vec![r#""default";r=2;t=60"#]));
    assert!(slow.events.is_empty());
}

#[tokio::test]
async fn a_stream_that_is_reset_has_paid_and_is_no_longer_under_way() {
    let mut slow = Slow::serve(five().0.in_flight(1).build().unwrap()).await;
    let stream = TokioIo::new(connect(1, slow.server).await);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let mut request = |path: &str| {
        let uri = format!("http://{}{path}", slow.server);
        sender.send_request(Request::get(uri).body(Full::<Bytes>::default()).unwrap())
    };
    for remaining in [3, 1] {
        let waiting = tokio::spawn(request("/slow"));
        assert_eq!(soon(slow.events.recv()).await, Some(Event::Began));
        assert_eq!(request("/200").await.unwrap().status(), 429, "it is under way");
        // Whoever drops a response's future resets its stream; the connection stays.
        waiting.abort();
        assert_eq!(soon(slow.events.recv()).await, Some(Event::Dropped));
        let reply = request("/200").await.unwrap();
        assert_eq!(reply.headers()["ratelimit"], format!("\"default\";r={remaining};t=60"));
    }
}

#[tokio::test]
async fn only_what_is_to_be_charged_is() {
    let caller = {
        let gate = five().0.charge_if(|status| status == 401).build().unwrap();
        Caller::from(1, Slow::serve(gate).await.server)
    };
    for _ in 0..20 {
        let reply = caller.get("/200").await;
        assert_eq!((reply.status, reply.lines("ratelimit")), (200, vec![r#""default";r=5"#]));
    }
    assert_eq!(caller.statuses("/401", 6).await, [401, 401, 401, 401, 401, 429]);
    assert_eq!(caller.statuses("/200", 1).await, [429]);
}

#[tokio::test]
async fn charges_are_reserved_so_that_no_number_at_once_exceeds_the_limit() {
    let mut slow = Slow::serve(five().0.charge_if(|status| status >= 400).build().unwrap()).await;
    let caller = Caller::over_http2(1, slow.server);
    let waiting: Vec<_> = (0..5)
        .map(|_| {
            let caller = caller.clone();
            tokio::spawn(async move { caller.get("/slow").await.status })
        })
        .collect();
    for _ in 0..5 {
        assert_eq!(slow.event().await, Event::Began);
    }
    assert_eq!(caller.statuses("/200", 1).await, [429]);
    slow.go.add_permits(5);
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap(), 200);
    }
    assert_eq!(caller.get("/200").await.lines("ratelimit"), [r#""default";r=5"#]);
}
