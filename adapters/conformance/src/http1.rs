use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::reply::Reply;
use crate::request::Request;

/// A connection that speaks HTTP/1.1, byte by byte.
pub(crate) struct Connection {
    stream: TcpStream,
    /// Received and not yet part of a response.
    ahead: Vec<u8>,
    /// How many responses said `100 Continue`.
    pub(crate) continued: usize,
}

/// Connects from this address to a server. One that listens on `::` is called by IPv4.
pub(crate) async fn connect(from: Ipv4Addr, server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    let stream = socket.connect((Ipv4Addr::LOCALHOST, server.port()).into()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

impl Connection {
    pub(crate) async fn open(from: Ipv4Addr, server: SocketAddr) -> Self {
        Self { stream: connect(from, server).await, ahead: Vec::new(), continued: 0 }
    }

    /// Sends a request and receives its response.
    pub(crate) async fn send(&mut self, request: &Request) -> Reply {
        self.write(&request.bytes()).await;
        self.reply(request.method).await.expect("a response before the connection is closed")
    }

    /// Whether all was taken: a server that has answered may take no more.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// Says that nothing more is sent.
    pub(crate) async fn finish(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// Breaks the connection off, as a client does that is killed.
    pub(crate) fn break_off(self) {
        self.stream.set_zero_linger().unwrap();
    }

    /// The next response, to a request of this method; `None` if the connection is closed instead.
    pub(crate) async fn reply(&mut self, method: &str) -> Option<Reply> {
        loop {
            let head = loop {
                match find(&self.ahead, b"\r\n\r\n") {
                    Some(end) => break self.take(end + 4),
                    None if self.receive().await => {}
                    None if self.ahead.is_empty() => return None,
                    None => panic!("closed amid a head: {:?}", String::from_utf8_lossy(&self.ahead)),
                }
            };
            let (status, fields) = parse(&head);
            if status == 100 {
                self.continued += 1;
                continue;
            }
            let body = self.body(method, status, &fields).await;
            return Some(Reply::new(status, fields, body));
        }
    }

    /// Whether the server closes the connection without another byte.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.ahead.is_empty() && !self.receive().await
    }

    /// Whether anything is there that was not asked for, as far as can be seen now.
    pub(crate) fn is_silent(&self) -> bool {
        self.ahead.is_empty() && self.stream.try_read(&mut [0]).is_err()
    }

    async fn body(&mut self, method: &str, status: u16, fields: &[(String, String)]) -> Vec<u8> {
        let value = |name| fields.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
        if method == "HEAD" || matches!(status, 101..=199 | 204 | 304) {
            return Vec::new();
        }
        if value("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            return self.chunks().await;
        }
        if let Some(length) = value("content-length") {
            return self.exactly(length.parse().expect("a length")).await;
        }
        while self.receive().await {}
        std::mem::take(&mut self.ahead)
    }

    async fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let line = loop {
                match find(&self.ahead, b"\r\n") {
                    Some(end) => break self.take(end + 2),
                    None => assert!(self.receive().await, "closed amid chunks"),
                }
            };
            let size = str::from_utf8(&line).unwrap().trim_ascii();
            let size = usize::from_str_radix(size, 16).expect("a chunk's size");
            let chunk = self.exactly(size + 2).await;
            body.extend_from_slice(chunk.strip_suffix(b"\r\n").expect("a chunk's end"));
            if size == 0 {
                return body;
            }
        }
    }

    async fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.ahead.len() < length {
            assert!(self.receive().await, "closed amid a body");
        }
        self.take(length)
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        self.ahead.drain(..length).collect()
    }

    /// Receives some bytes; whether there are any before the end.
    async fn receive(&mut self) -> bool {
        let read = self.stream.read_buf(&mut self.ahead);
        let read = tokio::time::timeout(PATIENCE, read).await.expect("the server is silent");
        read.is_ok_and(|length| length > 0)
    }
}

/// So long a server may say nothing before the case has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// The status and the fields of a head, read strictly.
fn parse(head: &[u8]) -> (u16, Vec<(String, String)>) {
    let head = str::from_utf8(head).expect("a head in ASCII");
    let mut lines = head.trim_end_matches("\r\n").split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1."));
    let status = status.and_then(|line| line.get(2..5)).and_then(|status| status.parse().ok());
    let field = |line: &str| {
        let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("no field: {line:?}"));
        (name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned())
    };
    (status.unwrap_or_else(|| panic!("no status: {head:?}")), lines.map(field).collect())
}
