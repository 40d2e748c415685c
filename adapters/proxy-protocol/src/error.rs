use std::io;
use std::time::Duration;

use tollgate::OriginError;

use crate::proxy_protocol::ProxyProtocol;

/// Why a [`ProxyProtocol`] can't be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyProtocolError {
    /// No network is trusted, so no header would be read.
    #[error(
        "no peer is trusted to say who is calling: name the network that your proxies connect from, for example \
         .trust_network(\"10.0.0.0/8\")"
    )]
    NobodyTrusted,
    /// A network can't be trusted as it is written.
    #[error("the trusted network {network:?}: {error}")]
    Network {
        /// What was given.
        network: String,
        /// What is wrong.
        error: OriginError,
    },
    /// A deadline of zero, which no header can meet.
    #[error("a deadline of zero refuses every connection: leave it at {:?}", ProxyProtocol::DEFAULT_DEADLINE)]
    NoTime,
}

/// Why a trusted peer's connection has no caller. Close it: nothing on it can be believed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The first bytes begin no PROXY header.
    #[error(
        "the connection begins with no PROXY header, which a trusted peer has to send: turn the PROXY protocol on at \
         this proxy (HAProxy: send-proxy-v2, nginx: proxy_protocol on), or trust its address no longer"
    )]
    Missing,
    /// A header begins, but keeps to neither version of the format.
    #[error(
        "the PROXY header keeps to neither version 1 nor version 2 of the format: check what sends it, or have it send \
         the other version"
    )]
    Malformed,
    /// The header is longer than [`ProxyProtocol::LONGEST_V1`] or [`ProxyProtocol::LONGEST_V2`].
    #[error(
        "the PROXY header is longer than {longest} bytes: have the proxy leave out what it need not send, such as \
         client certificates"
    )]
    TooLong {
        /// The most that is read, in bytes.
        longest: usize,
    },
    /// The header was not whole in time.
    #[error(
        "no whole PROXY header came within {deadline:?}: turn the PROXY protocol on at this proxy, or raise the \
         deadline if its network is slow"
    )]
    Late {
        /// How long was waited.
        deadline: Duration,
    },
    /// The connection ended before its header did. Health checks that merely connect do this.
    #[error(
        "the connection ended after {received} bytes, before its PROXY header did: nothing to change if it is a health \
         check that merely connects"
    )]
    Ended {
        /// The bytes that came.
        received: usize,
    },
    /// The connection could not be read.
    #[error("the PROXY header can't be read: {0}")]
    Io(#[from] io::Error),
}
