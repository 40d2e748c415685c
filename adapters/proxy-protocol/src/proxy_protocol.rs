use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;
use tollgate::TrustedNetwork;

use crate::error::HandshakeError;
use crate::header::{self, Frame};
use crate::proxied::Proxied;

/// Reads the PROXY headers of trusted peers; see the [crate's docs](https://docs.rs/tollgate-proxy-protocol). Clones are cheap.
#[derive(Clone, Debug)]
pub struct ProxyProtocol {
    networks: Arc<[TrustedNetwork]>,
    deadline: Duration,
}

impl ProxyProtocol {
    /// 5 seconds: a lost segment is sent again after 1 second, and once more after 2 (RFC 6298). The format's document
    /// asks for 3 at least.
    pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(5);

    /// The longest header of version 1, in bytes, as the format has it.
    pub const LONGEST_V1: usize = 107;

    /// The longest header of version 2 that is read, in bytes. Addresses take at most 232, and a proxy's additions are
    /// rarely above a hundred; the format would allow 65,551, which a peer could have us keep for each connection.
    pub const LONGEST_V2: usize = 4096;

    pub(crate) fn new(networks: Vec<TrustedNetwork>, deadline: Duration) -> Self {
        Self { networks: networks.into(), deadline }
    }

    /// Whether a header from this peer is believed. The peer's canonical form counts: `::ffff:10.1.2.3` is in
    /// `10.0.0.0/8`.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(peer))
    }

    /// The stream behind the header, and the caller's address.
    ///
    /// An untrusted peer's stream passes unread, and the peer is the caller. A trusted peer's has to begin with a
    /// header, whole before the deadline, and the caller is the source that it tells; where it tells none (`UNKNOWN`,
    /// `LOCAL`, an unspecified family, a Unix socket) the peer is. At most 90 bytes behind the header are read with
    /// it, and the returned stream begins with them.
    ///
    /// Call it in the connection's task: it waits for the peer, and a loop that awaits it accepts nobody meanwhile.
    ///
    /// # Errors
    /// If a trusted peer sends no header, or none that can be read. Close the connection, whose stream is gone.
    ///
    /// # Panics
    /// Outside a tokio runtime with its time driver enabled.
    ///
    /// # Security
    /// `peer` has to be the socket's. The caller's address is as true as the trusted peer is.
    pub async fn accept<S>(
        &self,
        mut stream: S,
        peer: SocketAddr,
    ) -> Result<(Proxied<S>, SocketAddr), HandshakeError>
    where
        S: AsyncRead + Unpin,
    {
        if !self.trusts(peer.ip()) {
            return Ok((Proxied::new(stream), peer));
        }
        let late = HandshakeError::Late { deadline: self.deadline };
        let (source, rest) = timeout(self.deadline, read(&mut stream)).await.unwrap_or(Err(late))?;
        Ok((Proxied::ahead(rest, stream), source.unwrap_or(peer)))
    }
}

/// The source that a header tells, and what came behind it.
async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> Result<(Option<SocketAddr>, Vec<u8>), HandshakeError> {
    let mut bytes = Vec::with_capacity(ProxyProtocol::LONGEST_V1);
    loop {
        match header::frame(&bytes)? {
            Frame::Whole { length } => {
                let rest = bytes.split_off(length);
                return Ok((header::source(&bytes)?, rest));
            }
            Frame::Partial { at_most } => {
                let room = at_most - bytes.len();
                bytes.reserve_exact(room);
                if (&mut *stream).take(room as u64).read_buf(&mut bytes).await? == 0 {
                    return Err(HandshakeError::Ended { received: bytes.len() });
                }
            }
        }
    }
}
