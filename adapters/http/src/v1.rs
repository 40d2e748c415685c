//! What adapters for frameworks of version 1 of the crate `http` share: requests as a gate reads them, its answers as
//! responses, and the whole step from the one to the other. With the feature `http-1`.
//!
//! # Example
//! The middle of a middleware for `tower` or hyper:
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use tollgate_http::v1::{Entry, Responding, TermsOf, enter, later, settle};
//! use tollgate_http::{Checkpoint, ResponseFuture};
//!
//! fn call<F: Future<Output = Result<Response<Bytes>, E>>, E>(
//!     checkpoint: &Checkpoint<TermsOf>,
//!     mut request: Request<()>,
//!     inner: fn(Request<()>) -> F,
//! ) -> Responding<fn(Request<()>) -> F, (), F, F::Output> {
//!     match enter(checkpoint, &mut request, |extensions| extensions.get().copied(), "put an `IpAddr` into the extensions") {
//!         Ok(Entry::Passes(permit)) => ResponseFuture::passed(inner(request), permit, settle),
//!         Ok(Entry::Answered(response)) => ResponseFuture::answered(Ok(response)),
//!         Err(pending) => later(pending, inner, request, |inner, request| inner(request), settle),
//!     }
//! }
//! ```

mod entry;
mod head;
mod headers;
mod internal;
mod later;
mod response;
mod settle;
#[cfg(feature = "report")]
mod throttled;

pub use entry::{Entry, enter, finish};
pub use head::{Head, TermsOf};
pub use internal::{NotInternal, require_internal};
pub use later::{Kept, Responding, later};
pub use settle::settle;
#[cfg(feature = "report")]
pub use throttled::throttled;
