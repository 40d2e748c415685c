use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::http1::{PATIENCE, connect};
use crate::reply::Reply;
use crate::request::Request;

/// A connection that speaks HTTP/2 by prior knowledge. Clones are one connection.
#[derive(Clone)]
pub(crate) struct Http2 {
    streams: SendRequest<Full<Bytes>>,
}

impl Http2 {
    pub(crate) async fn open(from: Ipv4Addr, server: SocketAddr) -> Self {
        let io = TokioIo::new(connect(from, server).await);
        let (streams, connection) = handshake(TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(connection);
        Self { streams }
    }

    /// Sends a request on a stream of its own; the future is the stream, which is reset if it is dropped.
    pub(crate) async fn send(&self, request: &Request) -> Reply {
        let mut streams = self.streams.clone();
        let mut sent = http::Request::new(Full::new(Bytes::copy_from_slice(&request.body)));
        *sent.method_mut() = request.method.parse().unwrap();
        *sent.uri_mut() = format!("http://tollgate.test{}", request.target).parse().unwrap();
        for (name, value) in &request.fields {
            let name: http::HeaderName = name.parse().unwrap();
            sent.headers_mut().append(name, value.as_slice().try_into().unwrap());
        }
        let exchange = async {
            streams.ready().await.unwrap();
            let (head, body) = streams.send_request(sent).await.unwrap().into_parts();
            (head, body.collect().await.unwrap().to_bytes())
        };
        let (head, body) = tokio::time::timeout(PATIENCE, exchange).await.expect("the server is silent");
        let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
        let fields =
            head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
        Reply::new(head.status.as_u16(), fields, body.into())
    }
}
