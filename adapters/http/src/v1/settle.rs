use std::task::Poll;

use http::{Extensions, Response, StatusCode};

use crate::decision::Decision;
use crate::permit::Permit;
use crate::v1::response::{Sent, add};

/// What a gate further inside has decided, if it says so.
#[inline(never)]
fn inside(extensions: &Extensions) -> Option<&Decision> {
    extensions.get()
}

/// Settles a request with its response when that is there, and writes into it what it is told.
///
/// An error of the application's is our own failure and counts like a response of 500, whatever becomes of it further outside.
///
/// # Errors
/// If the application's response is one.
pub fn settle<B, E>(
    permit: &mut Option<Permit>,
    mut polled: Poll<Result<Response<B>, E>>,
) -> Poll<Result<Response<B>, E>> {
    match &mut polled {
        Poll::Pending => {}
        Poll::Ready(Err(_)) => {
            let status = StatusCode::INTERNAL_SERVER_ERROR.as_u16();
            if let Some(permit) = permit.take() {
                permit.settle(status, None);
            }
        }
        Poll::Ready(Ok(response)) => {
            let Some(permit) = permit else { return polled };
            let extensions = response.extensions();
            let inside = if extensions.is_empty() { None } else { inside(extensions) };
            let settled = permit.settle_with(response.status().as_u16(), inside);
            let headers = response.headers_mut();
            let over = settled.write::<Sent>(|name, value, merge| add(headers, name, value, merge));
            if let Some(over) = over {
                response.extensions_mut().insert(over);
            }
        }
    }
    polled
}
