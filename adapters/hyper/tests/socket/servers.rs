//! The servers of hyper and hyper-util, shut down gracefully and behind a proxy.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tollgate_conformance::{Caller, five};
use tollgate_hyper::{Tollgate, TollgateService};
use tollgate_proxy_protocol::ProxyProtocol;

use crate::support::{Api, soon};

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn limited(tollgate: &Tollgate, peer: SocketAddr) -> TollgateService<Api> {
    tollgate.wrap(Api::new(&Arc::new(five().0.build().unwrap())), Some(peer.ip()))
}

#[tokio::test]
async fn the_servers_of_either_version_take_it() {
    let tollgate = Tollgate::new(five().0.build().unwrap());
    for is_http2 in [false, true] {
        let ((listener, server), tollgate) = (listen().await, tollgate.clone());
        tokio::spawn(async move {
            let (stream, peer) = listener.accept().await.unwrap();
            let (stream, service) = (TokioIo::new(stream), limited(&tollgate, peer));
            if is_http2 {
                http2::Builder::new(TokioExecutor::new()).serve_connection(stream, service).await.unwrap();
            } else {
                http1::Builder::new().serve_connection(stream, service).with_upgrades().await.unwrap();
            }
        });
        let caller = if is_http2 { Caller::over_http2(1, server) } else { Caller::from(1, server) };
        let expected = if is_http2 { [200, 200, 429] } else { [200, 200, 200] };
        assert_eq!(caller.statuses("/", 3).await, expected, "they share the gate");
    }
}

#[tokio::test]
async fn graceful_shutdown_waits_for_what_is_under_way_and_no_longer() {
    for over in [Caller::from, Caller::over_http2] {
        let (began, go) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
        let (has_begun, may_go) = (Arc::clone(&began), Arc::clone(&go));
        let slow = move |request: Request<Incoming>| {
            let (began, go) = (Arc::clone(&has_begun), Arc::clone(&may_go));
            async move {
                if request.uri().path() == "/slow" {
                    began.notify_one();
                    go.acquire().await.unwrap().forget();
                }
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("hello")))
            }
        };
        let tollgate = Tollgate::new(five().0.in_flight(9).build().unwrap());
        let (listener, server) = listen().await;
        let (stop, stopped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (is_to_stop, has_stopped) = (Arc::clone(&stop), Arc::clone(&stopped));
        tokio::spawn(async move {
            let (builder, graceful) = (auto::Builder::new(TokioExecutor::new()), GracefulShutdown::new());
            loop {
                let (stream, peer) = tokio::select! {
                    accepted = listener.accept() => accepted.unwrap(),
                    () = is_to_stop.notified() => break,
                };
                let service = tollgate.wrap(service_fn(slow.clone()), Some(peer.ip()));
                let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
                tokio::spawn(graceful.watch(connection));
            }
            let mut shutdown = pin!(graceful.shutdown());
            // It has begun, and waits.
            assert!(matches!(poll_once(shutdown.as_mut()).await, Poll::Pending));
            go.add_permits(1);
            shutdown.await;
            has_stopped.notify_one();
        });
        let (caller, idle) = (over(1, server), over(2, server));
        assert_eq!(
            idle.statuses("/", 6).await,
            [200, 200, 200, 200, 200, 429],
            "one who was refused is idle"
        );
        let waiting = tokio::spawn(async move { caller.get("/slow").await });
        soon(began.notified()).await;
        stop.notify_one();
        let reply = soon(waiting).await.unwrap();
        assert_eq!((reply.status, &reply.body[..]), (200, &b"hello"[..]));
        assert_eq!(reply.lines("ratelimit"), [r#""default";r=4;t=60"#]);
        soon(stopped.notified()).await;
    }
}

/// Polls a future once.
async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

#[tokio::test]
async fn behind_a_proxy_callers_are_whom_its_header_tells() {
    const REQUEST: &str = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let proxies = ProxyProtocol::builder().trust_network("127.0.0.1/32").build().unwrap();
    let tollgate = Tollgate::new(five().0.build().unwrap());
    let (listener, server) = listen().await;
    tokio::spawn(async move {
        loop {
            let (stream, peer) = listener.accept().await.unwrap();
            let (proxies, tollgate) = (proxies.clone(), tollgate.clone());
            tokio::spawn(async move {
                let (stream, caller) = proxies.accept(stream, peer).await.unwrap();
                let service = limited(&tollgate, caller);
                http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.unwrap();
            });
        }
    });
    for caller in ["203.0.113.7", "203.0.113.8"] {
        for expected in [200, 200, 200, 200, 200, 429] {
            let mut stream = TcpStream::connect(server).await.unwrap();
            let sent = format!("PROXY TCP4 {caller} 192.0.2.1 40000 80\r\n{REQUEST}");
            stream.write_all(sent.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{caller}: {answer}");
        }
    }
}
