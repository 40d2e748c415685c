use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest, HttpResponse, ResponseError};
use tollgate_http::Decision;

/// What the gate decided about this request: an extractor.
///
/// It needs [`Tollgate`](crate::Tollgate) around the handler. With several, it is the innermost's decision. As
/// `Option<Decided>` it is `None` where there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decided(pub Decision);

impl FromRequest for Decided {
    type Error = Undecided;
    type Future = Ready<Result<Self, Undecided>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(request.extensions().get().cloned().map(Self).ok_or(Undecided))
    }
}

/// No gate has decided the request: the middleware is missing around the handler. Answered with 500.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no gate has decided the request: put `Tollgate` around its route")]
pub struct Undecided;

impl ResponseError for Undecided {
    fn error_response(&self) -> HttpResponse {
        tracing::error!(
            "a handler asks what the gate decided, but no gate was asked: put `Tollgate` around its route. Answered \
             with 500."
        );
        HttpResponse::new(self.status_code())
    }
}
