use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;
use tollgate_http::Fields;

use crate::response::add;

pin_project! {
    /// The response of [`Tollgate`](crate::Tollgate) or [`RequireInternalService`](crate::RequireInternalService): the
    /// application's, or the gate's own.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, R, E> {
        #[pin]
        kind: Kind<F, R, E>,
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind<F, R, E> {
        Passed {
            #[pin]
            future: F,
            fields: Option<Fields>,
        },
        Answered {
            #[pin]
            answer: Ready<Result<Response<R>, E>>,
        },
    }
}

impl<F, R, E> ResponseFuture<F, R, E> {
    pub(crate) fn passed(future: F, fields: Option<Fields>) -> Self {
        Self { kind: Kind::Passed { future, fields } }
    }

    pub(crate) fn answered(response: Response<R>) -> Self {
        Self { kind: Kind::Answered { answer: ready(Ok(response)) } }
    }
}

impl<F, R, E> Future for ResponseFuture<F, R, E>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<R>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().kind.project() {
            KindProjection::Passed { future, fields } => {
                let mut result = ready!(future.poll(cx));
                if let (Ok(response), Some(fields)) = (&mut result, fields) {
                    fields.iter().for_each(|field| add(response.headers_mut(), field));
                }
                Poll::Ready(result)
            }
            KindProjection::Answered { answer } => answer.poll(cx),
        }
    }
}
