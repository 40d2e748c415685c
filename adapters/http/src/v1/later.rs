use bytes::Bytes;
use http::{Request, Response};

use crate::future::{ResponseFuture, Settle};
use crate::pending::{Heard, Pending};
use crate::v1::entry::{Entry, finish};

/// What is kept of a request that waits for a store: itself, and the service that it goes on to.
pub struct Kept<S, B, F: Future, O> {
    service: S,
    request: Request<B>,
    call: fn(S, Request<B>) -> F,
    settle: Settle<F::Output, O>,
}

/// The response to a request that came to a checkpoint and may have to wait.
pub type Responding<S, B, F, O> = ResponseFuture<F, O, Kept<S, B, F, O>>;

/// The response to a request that waits for a store: then the service is called or the gate's own response is sent.
#[cold]
pub fn later<S, B, R: From<Bytes>, F: Future, E>(
    pending: Pending,
    service: S,
    request: Request<B>,
    call: fn(S, Request<B>) -> F,
    settle: Settle<F::Output, Result<Response<R>, E>>,
) -> Responding<S, B, F, Result<Response<R>, E>> {
    ResponseFuture::waiting(pending, Kept { service, request, call, settle }, resume)
}

fn resume<S, B, R: From<Bytes>, F: Future, E>(
    kept: Kept<S, B, F, Result<Response<R>, E>>,
    heard: Heard,
) -> Responding<S, B, F, Result<Response<R>, E>> {
    let Kept { service, mut request, call, settle } = kept;
    match finish(heard, &mut request) {
        Entry::Passes(permit) => ResponseFuture::passed(call(service, request), permit, settle),
        Entry::Answered(response) => ResponseFuture::answered(Ok(response)),
    }
}
