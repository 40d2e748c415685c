//! A hyper server over real sockets.

use std::net::{Ipv4Addr, SocketAddr};

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tollgate_proxy_protocol::ProxyProtocol;

use crate::support::{v1_from, v2_from};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
const PROXY: Ipv4Addr = Ipv4Addr::LOCALHOST;
const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);

/// Answers each request with its caller's address; ends with the test's runtime.
async fn serve() -> SocketAddr {
    let proxies = ProxyProtocol::builder().trust_network("127.0.0.1/32").build().unwrap();
    let listener = TcpListener::bind((PROXY, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, peer) = listener.accept().await.unwrap();
            let proxies = proxies.clone();
            tokio::spawn(async move {
                let Ok((stream, caller)) = proxies.accept(stream, peer).await else { return };
                let service = service_fn(|_| async move {
                    Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::from(caller.ip().to_string()))))
                });
                // What a caller does wrong is seen in what it is answered.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    address
}

async fn connect(from: Ipv4Addr, server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    socket.connect(server).await.unwrap()
}

/// What a connection that sends `bytes` at once is answered.
async fn answer(from: Ipv4Addr, server: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connect(from, server).await;
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A server that closes while bytes are on their way resets the connection.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn the_request_may_come_with_the_header() {
    let server = serve().await;
    for caller in ["203.0.113.7:40000", "[2001:db8::7]:1"].map(|text| text.parse::<SocketAddr>().unwrap()) {
        for header in [v1_from(caller), v2_from(caller, b"")] {
            let answer = answer(PROXY, server, &[&header[..], REQUEST].concat()).await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.ends_with(&format!("\r\n\r\n{}", caller.ip())), "{answer}");
        }
    }
}

#[tokio::test]
async fn an_untrusted_header_is_a_bad_request() {
    let server = serve().await;
    for header in [v1_from("203.0.113.7:1".parse().unwrap()), v2_from("203.0.113.7:1".parse().unwrap(), b"")]
    {
        let answer = answer(STRANGER, server, &[&header[..], REQUEST].concat()).await;
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    }
    let plain = answer(STRANGER, server, REQUEST).await;
    assert!(plain.ends_with("\r\n\r\n127.1.0.1"), "{plain}");
}

#[tokio::test]
async fn a_trusted_peer_without_a_header_is_closed() {
    let server = serve().await;
    assert_eq!(answer(PROXY, server, REQUEST).await, "");
    assert_eq!(answer(PROXY, server, b"\x16\x03\x01\x02\x00 a TLS hello").await, "");
}
