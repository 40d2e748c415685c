#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
mod decided;
mod internal;
mod service;
#[cfg(feature = "report")]
mod throttled;
mod tollgate;

pub use body::ResponseBody;
pub use decided::decided;
pub use internal::{RequireInternal, require_internal};
pub use service::TollgateService;
#[cfg(feature = "report")]
pub use throttled::throttled;
pub use tollgate::Tollgate;
#[doc(inline)]
pub use tollgate_http::prelude::*;
pub use tollgate_http::v1::{Head, NotInternal};
