//! Headers written by hand from the format's description, and a trusted peer that sends them.

use std::net::{IpAddr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tollgate_proxy_protocol::{HandshakeError, ProxyProtocol};

pub(crate) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
pub(crate) const LOCAL: u8 = 0x20;
pub(crate) const PROXY: u8 = 0x21;
pub(crate) const TCP4: u8 = 0x11;
pub(crate) const TCP6: u8 = 0x21;

pub(crate) fn proxies() -> ProxyProtocol {
    ProxyProtocol::builder().trust_network("10.0.0.0/8").build().unwrap()
}

/// The socket's address of a trusted peer.
pub(crate) fn peer() -> SocketAddr {
    "10.1.2.3:50000".parse().unwrap()
}

pub(crate) fn v2(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
    let length = u16::try_from(block.len()).unwrap().to_be_bytes();
    [SIGNATURE, &[command, family], &length, block].concat()
}

/// The addresses of version 2: source, destination, and their ports.
pub(crate) fn addresses(source: SocketAddr) -> Vec<u8> {
    let (ip, destination) = match source.ip() {
        IpAddr::V4(ip) => (ip.octets().to_vec(), vec![192, 0, 2, 1]),
        IpAddr::V6(ip) => (ip.octets().to_vec(), vec![9; 16]),
    };
    [ip, destination, source.port().to_be_bytes().to_vec(), vec![1, 187]].concat()
}

/// A header of version 2 that tells `source`, with `more` behind its addresses.
pub(crate) fn v2_from(source: SocketAddr, more: &[u8]) -> Vec<u8> {
    v2(PROXY, if source.is_ipv4() { TCP4 } else { TCP6 }, &[addresses(source), more.to_vec()].concat())
}

pub(crate) fn v1_from(source: SocketAddr) -> Vec<u8> {
    let (family, destination) =
        if source.is_ipv4() { ("TCP4", "192.0.2.1") } else { ("TCP6", "2001:db8::1") };
    format!("PROXY {family} {} {destination} {} 443\r\n", source.ip(), source.port()).into_bytes()
}

/// A pipe that holds `bytes`, and ends behind them.
pub(crate) async fn holding(bytes: &[u8]) -> DuplexStream {
    let (mut client, stream) = duplex(bytes.len().max(1));
    client.write_all(bytes).await.unwrap();
    stream
}

/// What a trusted peer that sends `bytes` at once comes to: the caller, and what the application reads.
pub(crate) async fn accept(bytes: &[u8]) -> Result<(SocketAddr, Vec<u8>), HandshakeError> {
    let (mut stream, caller) = proxies().accept(holding(bytes).await, peer()).await?;
    let mut body = Vec::new();
    stream.read_to_end(&mut body).await?;
    Ok((caller, body))
}
