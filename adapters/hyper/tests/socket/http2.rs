//! Many streams of one connection.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::{Semaphore, mpsc};
use tollgate_hyper::{Gate, Quota, Tollgate};

use crate::support::{connect, serve, soon};

// Abuse 15 over one connection: check, then consume.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_200_streams_at_once_exactly_the_limit_passes() {
    const LIMIT: usize = 50;
    let go = Arc::new(Semaphore::new(0));
    let may_go = Arc::clone(&go);
    let wait = service_fn(move |_: Request<Incoming>| {
        let go = Arc::clone(&may_go);
        async move {
            go.acquire().await.unwrap().forget();
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("hello")))
        }
    });
    let tollgate = Tollgate::new(Gate::builder(Quota::per_hour(50)).build().unwrap());
    let server = serve(&tollgate, wait).await;
    let stream = TokioIo::new(connect(1, server).await);
    let (client, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let (sender, mut statuses) = mpsc::unbounded_channel();
    for _ in 0..200 {
        let (mut client, sender) = (client.clone(), sender.clone());
        let request = Request::get(format!("http://{server}/")).body(Full::<Bytes>::default()).unwrap();
        tokio::spawn(async move {
            sender.send(client.send_request(request).await.unwrap().status().as_u16()).unwrap();
        });
    }
    // All that are refused are answered while all that pass wait for it, so these are under way at once.
    for _ in LIMIT..200 {
        assert_eq!(soon(statuses.recv()).await, Some(429));
    }
    assert!(statuses.is_empty());
    go.add_permits(200);
    for _ in 0..LIMIT {
        assert_eq!(soon(statuses.recv()).await, Some(200));
    }
    assert_eq!(go.available_permits(), 200 - LIMIT, "the application saw no others");
}
