//! A hyper server behind a proxy on this host that tells each caller its address. Try it with
//! `curl --haproxy-clientip 203.0.113.7 http://127.0.0.1:8080/`, which plays the proxy, or `--haproxy-protocol`.

use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tollgate_proxy_protocol::ProxyProtocol;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let proxies = ProxyProtocol::builder().trust_network("127.0.0.1/32").build()?;
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, perhaps: some connections will end.
                tell(&format!("accept: {error}"));
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let proxies = proxies.clone();
        // The header is read in the connection's own task, so that a silent peer stops nobody.
        tokio::spawn(async move {
            if let Err(error) = serve(&proxies, stream, peer).await {
                tell(&format!("{peer}: {error}"));
            }
        });
    }
}

async fn serve(proxies: &ProxyProtocol, stream: TcpStream, peer: SocketAddr) -> Result<(), Box<dyn Error>> {
    let (stream, caller) = proxies.accept(stream, peer).await?;
    let service = service_fn(|_| async move {
        Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::from(format!("{}\n", caller.ip())))))
    });
    Ok(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await?)
}

fn tell(message: &str) {
    // If nobody reads it, the server goes on.
    let _ = writeln!(std::io::stderr(), "{message}");
}
