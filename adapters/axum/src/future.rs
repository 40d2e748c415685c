use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;
use tollgate_http::Permit;
use tollgate_http::v1::settle;

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
            permit: Option<Permit>,
        },
        Answered {
            #[pin]
            answer: Ready<Result<Response<R>, E>>,
        },
    }
}

impl<F, R, E> ResponseFuture<F, R, E> {
    pub(crate) fn passed(future: F, permit: Option<Permit>) -> Self {
        Self { kind: Kind::Passed { future, permit } }
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
            KindProjection::Passed { future, permit } => {
                let mut result = ready!(future.poll(cx));
                // Taken, since a request is settled once and no longer under way.
                if let Some(permit) = permit.take() {
                    settle(permit, &mut result);
                }
                Poll::Ready(result)
            }
            KindProjection::Answered { answer } => answer.poll(cx),
        }
    }
}
