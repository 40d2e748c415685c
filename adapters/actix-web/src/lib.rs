#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod middleware;
mod request;

pub use middleware::{Middleware, RequireInternalLayer, Tollgate};
pub use request::*;
#[doc(inline)]
pub use tollgate_http::prelude::*;
