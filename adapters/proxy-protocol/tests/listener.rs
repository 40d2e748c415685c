//! The listener for axum, over pipes and with a paused clock. `tollgate-axum` has tests of it over sockets.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tollgate_proxy_protocol::{ProxyListener, ProxyProtocol};

const PROXY: Ipv4Addr = Ipv4Addr::LOCALHOST;
const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);

/// A listener whose connections are pipes.
struct Pipes(mpsc::UnboundedReceiver<(DuplexStream, SocketAddr)>);

impl Listener for Pipes {
    type Io = DuplexStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (DuplexStream, SocketAddr) {
        match self.0.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok((PROXY, 80).into())
    }
}

struct Clients(mpsc::UnboundedSender<(DuplexStream, SocketAddr)>);

impl Clients {
    async fn connect(&self, from: Ipv4Addr, bytes: &str) -> DuplexStream {
        let (mut client, stream) = duplex(256);
        client.write_all(bytes.as_bytes()).await.unwrap();
        self.0.send((stream, (from, 50000).into())).unwrap();
        client
    }
}

fn pipes() -> (Clients, ProxyListener<Pipes>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let proxies = ProxyProtocol::builder().trust_network("127.0.0.1/32").build().unwrap();
    (Clients(sender), ProxyListener::new(Pipes(receiver), proxies))
}

fn header(caller: &str) -> String {
    format!("PROXY TCP4 {caller} 192.0.2.1 40000 80\r\n")
}

async fn is_closed(client: &mut DuplexStream) -> bool {
    timeout(Duration::from_millis(1), client.read(&mut [0])).await.is_ok_and(|read| read.unwrap() == 0)
}

#[tokio::test(start_paused = true)]
async fn a_dropped_accept_loses_no_connection() {
    let (clients, mut listener) = pipes();
    let mut client = clients.connect(PROXY, "PROXY TCP4 203.0.").await;
    assert!(timeout(Duration::from_secs(1), listener.accept()).await.is_err());
    client.write_all(b"113.7 192.0.2.1 9 80\r\nabc").await.unwrap();
    let (mut stream, caller) = listener.accept().await;
    assert_eq!(caller, "203.0.113.7:9".parse().unwrap());
    let mut body = [0; 3];
    stream.read_exact(&mut body).await.unwrap();
    assert_eq!(&body, b"abc");
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_closed_at_the_deadline() {
    let (clients, mut listener) = pipes();
    let mut client = clients.connect(PROXY, "PROXY ").await;
    let began = Instant::now();
    tokio::spawn(async move { listener.accept().await });
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(began.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn of_too_many_silent_peers_the_oldest_are_closed() {
    let (clients, mut listener) = pipes();
    let mut silent = Vec::new();
    for _ in 0..1025 {
        silent.push(clients.connect(PROXY, "").await);
    }
    let _served = clients.connect(PROXY, &header("203.0.113.7")).await;
    assert_eq!(listener.accept().await.1.ip(), Ipv4Addr::new(203, 0, 113, 7));
    // The newest two needed room; the 1,023 before them keep theirs.
    assert!(is_closed(&mut silent[0]).await && is_closed(&mut silent[1]).await);
    assert!(!is_closed(&mut silent[2]).await && !is_closed(&mut silent[1024]).await);
}

#[tokio::test(start_paused = true)]
async fn connections_that_were_served_and_strangers_take_no_room() {
    let (clients, mut listener) = pipes();
    let mut silent = clients.connect(PROXY, "").await;
    for _ in 0..1500 {
        let _client = clients.connect(PROXY, &header("203.0.113.7")).await;
        assert_eq!(listener.accept().await.1.ip(), Ipv4Addr::new(203, 0, 113, 7));
        let _client = clients.connect(STRANGER, "").await;
        assert_eq!(listener.accept().await.1.ip(), STRANGER);
    }
    assert!(!is_closed(&mut silent).await);
}
