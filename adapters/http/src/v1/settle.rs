use http::{Response, StatusCode};

use crate::permit::Permit;
use crate::v1::response::{Sent, add};

/// Settles a request with its response, and writes there what it is told.
///
/// An error of the application's is our own failure and counts like a response of 500, whatever becomes of it further outside.
///
/// # Errors
/// If the application's response is one.
pub fn settle<B, E>(permit: Option<Permit>, mut result: Result<Response<B>, E>) -> Result<Response<B>, E> {
    match (permit, &mut result) {
        (None, _) => {}
        (Some(permit), Err(_)) => {
            permit.settle(StatusCode::INTERNAL_SERVER_ERROR.as_u16(), None);
        }
        (Some(permit), Ok(response)) => {
            let settled = permit.settle_with(response.status().as_u16(), response.extensions().get());
            let headers = response.headers_mut();
            let over = settled.write::<Sent>(|name, value, merge| add(headers, name, value, merge));
            if let Some(over) = over {
                response.extensions_mut().insert(over);
            }
        }
    }
    result
}
