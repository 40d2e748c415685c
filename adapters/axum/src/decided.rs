use std::convert::Infallible;

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use tollgate_http::Decision;

/// What the gate decided about this request: an extractor.
///
/// It needs [`TollgateLayer`](crate::TollgateLayer) around the handler. With several, it is the innermost's decision.
/// As `Option<Decided>` it is `None` where there is no layer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decided(pub Decision);

impl<S: Send + Sync> FromRequestParts<S> for Decided {
    type Rejection = Undecided;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Undecided> {
        parts.extensions.get().cloned().map(Self).ok_or(Undecided)
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Decided {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get().cloned().map(Self))
    }
}

/// No gate has decided the request: the layer is missing around the handler. Answered with 500.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Undecided;

impl IntoResponse for Undecided {
    fn into_response(self) -> Response {
        tracing::error!(
            "a handler asks what the gate decided, but no gate was asked: put `TollgateLayer` around its route. \
             Answered with 500."
        );
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}
