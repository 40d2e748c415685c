//! The listener for proxies that speak the PROXY protocol, with a gate behind it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use axum::serve::{Listener, ListenerExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tollgate_axum::{Clock, Gate, ManualClock, Peer, ProxyListener, ProxyProtocol, Quota, TollgateLayer};

const REQUEST: &str = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
const PROXY: Ipv4Addr = Ipv4Addr::LOCALHOST;
const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);

fn proxies() -> ProxyProtocol {
    ProxyProtocol::builder().trust_network("127.0.0.1/32").build().unwrap()
}

fn header(caller: &str) -> String {
    format!("PROXY TCP4 {caller} 192.0.2.1 40000 80\r\n")
}

/// Tells callers their addresses, five times a minute. The clock stands still.
fn api() -> Router {
    let gate = Gate::builder(Quota::per_minute(5)).clock(Clock::Manual(ManualClock::new())).build().unwrap();
    Router::new()
        .route("/", get(|ConnectInfo(Peer(peer))| async move { peer.ip().to_string() }))
        .layer(TollgateLayer::new(gate))
}

/// Serves as a user does; the server ends with the test's runtime.
async fn serve() -> SocketAddr {
    let listener = ProxyListener::new(TcpListener::bind((PROXY, 0)).await.unwrap(), proxies());
    let address = listener.local_addr().unwrap();
    let app = api().into_make_service_with_connect_info::<Peer>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

async fn connect(from: Ipv4Addr, server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    socket.connect(server).await.unwrap()
}

/// The status and the body that a connection is answered which sends `bytes` at once; nothing if it is closed.
async fn answer(from: Ipv4Addr, server: SocketAddr, bytes: &str) -> Option<(u16, String)> {
    let mut stream = connect(from, server).await;
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A server that closes while bytes are on their way resets the connection.
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().unwrap();
    Some((status, answer.split_once("\r\n\r\n")?.1.to_owned()))
}

async fn status(from: Ipv4Addr, server: SocketAddr, bytes: &str) -> Option<u16> {
    answer(from, server, bytes).await.map(|(status, _)| status)
}

#[tokio::test]
async fn callers_behind_one_proxy_have_budgets_of_their_own() {
    let server = serve().await;
    for caller in ["203.0.113.7", "203.0.113.8"] {
        let sent = header(caller) + REQUEST;
        for _ in 0..5 {
            assert_eq!(answer(PROXY, server, &sent).await, Some((200, caller.into())));
        }
        assert_eq!(status(PROXY, server, &sent).await, Some(429));
    }
    // The proxy itself, which checks its health, is a caller like any other.
    assert_eq!(status(PROXY, server, &format!("PROXY UNKNOWN\r\n{REQUEST}")).await, Some(200));
}

#[tokio::test]
async fn a_stranger_is_its_socket_whatever_it_says() {
    let server = serve().await;
    assert_eq!(status(STRANGER, server, &(header("203.0.113.7") + REQUEST)).await, Some(400));
    for _ in 0..5 {
        assert_eq!(answer(STRANGER, server, REQUEST).await, Some((200, STRANGER.to_string())));
    }
    assert_eq!(status(STRANGER, server, REQUEST).await, Some(429));
    assert_eq!(status(PROXY, server, &(header("203.0.113.7") + REQUEST)).await, Some(200));
}

#[tokio::test]
async fn a_trusted_peer_without_a_header_is_closed_and_nobody_else() {
    let server = serve().await;
    assert_eq!(answer(PROXY, server, REQUEST).await, None);
    assert_eq!(status(PROXY, server, &(header("203.0.113.7") + REQUEST)).await, Some(200));
}

#[tokio::test]
async fn silent_peers_stop_nobody() {
    let server = serve().await;
    let mut silent = Vec::new();
    for sent in 0..20 {
        let mut stream = connect(PROXY, server).await;
        stream.write_all(&header("203.0.113.7").as_bytes()[..sent]).await.unwrap();
        silent.push(stream);
    }
    assert_eq!(status(PROXY, server, &(header("203.0.113.8") + REQUEST)).await, Some(200));
    assert_eq!(status(STRANGER, server, REQUEST).await, Some(200));
    // They were waited for, and not turned away.
    for (sent, stream) in silent.iter_mut().enumerate().take(5) {
        let rest = &(header("203.0.113.7") + REQUEST)[sent..];
        stream.write_all(rest.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn handlers_that_ask_for_a_socket_address_can_have_it() {
    let listener = ProxyListener::new(TcpListener::bind((PROXY, 0)).await.unwrap(), proxies()).tap_io(|_| {});
    let server = listener.local_addr().unwrap();
    let gate = Gate::builder(Quota::per_minute(1)).clock(Clock::Manual(ManualClock::new())).build().unwrap();
    let app = Router::new()
        .route("/", get(|ConnectInfo::<SocketAddr>(peer)| async move { peer.ip().to_string() }))
        .layer(TollgateLayer::new(gate))
        .into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    for caller in ["203.0.113.7", "203.0.113.8"] {
        let sent = header(caller) + REQUEST;
        assert_eq!(answer(PROXY, server, &sent).await, Some((200, caller.into())));
        assert_eq!(status(PROXY, server, &sent).await, Some(429));
    }
}
