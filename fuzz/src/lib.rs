//! What the fuzz targets share: descriptions of quotas and of time, and the slow, obvious arithmetic that the core's
//! is compared with.

#![forbid(unsafe_code)]

mod input;
mod model;
mod oracle;

pub use input::{Clock, Kind, QuotaInput, Step};
pub use model::{Answer, EVER, Model, State};
pub use oracle::{Oracle, key};
