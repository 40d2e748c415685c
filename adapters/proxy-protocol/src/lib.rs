#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod error;
mod header;
#[cfg(feature = "axum")]
mod listener;
#[cfg(feature = "axum")]
mod peer;
mod proxied;
mod proxy_protocol;

pub use builder::ProxyProtocolBuilder;
pub use error::{HandshakeError, ProxyProtocolError};
#[cfg(feature = "axum")]
pub use listener::ProxyListener;
#[cfg(feature = "axum")]
pub use peer::Peer;
pub use proxied::Proxied;
pub use proxy_protocol::ProxyProtocol;
pub use tollgate::OriginError;
