#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod decided;
mod head;
mod internal;
mod layer;
mod peer;
mod service;
#[cfg(feature = "report")]
mod throttled;

pub use axum::extract::ConnectInfo;
pub use decided::{Decided, Undecided};
pub use head::Head;
pub use internal::{NotInternal, RequireInternal, RequireInternalLayer};
pub use layer::TollgateLayer;
pub use service::Tollgate;
#[cfg(feature = "report")]
pub use throttled::throttled;
#[doc(inline)]
pub use tollgate_http::prelude::*;
#[cfg(feature = "proxy-protocol")]
pub use tollgate_proxy_protocol::{
    HandshakeError, Peer, Proxied, ProxyListener, ProxyProtocol, ProxyProtocolBuilder, ProxyProtocolError,
};

/// The examples of the repository's README and guides are compiled with the documentation's; one needs the feature.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/moving.md")]
#[cfg_attr(feature = "proxy-protocol", doc = include_str!("../../../docs/behind-a-proxy.md"))]
struct Guides;
