#![doc = include_str!("../README.md")]

mod builder;
mod error;
mod header;
mod proxied;
mod proxy_protocol;

pub use builder::ProxyProtocolBuilder;
pub use error::{HandshakeError, ProxyProtocolError};
pub use proxied::Proxied;
pub use proxy_protocol::ProxyProtocol;
pub use tollgate::OriginError;
