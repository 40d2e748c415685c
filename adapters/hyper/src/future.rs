use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use pin_project_lite::pin_project;
use tollgate_http::Permit;
use tollgate_http::v1::settle;

use crate::body::ResponseBody;

pin_project! {
    /// The response of [`TollgateService`](crate::TollgateService) or [`RequireInternal`](crate::RequireInternal): the
    /// application's, or the gate's own.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F> {
        #[pin]
        kind: Kind<F>,
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind<F> {
        Passed {
            #[pin]
            future: F,
            permit: Option<Permit>,
        },
        Answered {
            #[pin]
            answer: Ready<Response<Full<Bytes>>>,
        },
    }
}

impl<F> ResponseFuture<F> {
    pub(crate) fn passed(future: F, permit: Option<Permit>) -> Self {
        Self { kind: Kind::Passed { future, permit } }
    }

    pub(crate) fn answered(response: Response<Full<Bytes>>) -> Self {
        Self { kind: Kind::Answered { answer: ready(response) } }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<ResponseBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().kind.project() {
            KindProjection::Passed { future, permit } => {
                let mut result = ready!(future.poll(cx));
                // Taken, since a request is settled once and no longer under way.
                if let Some(permit) = permit.take() {
                    settle(permit, &mut result);
                }
                Poll::Ready(result.map(|response| response.map(ResponseBody::passed)))
            }
            KindProjection::Answered { answer } => {
                answer.poll(cx).map(|response| Ok(response.map(ResponseBody::answered)))
            }
        }
    }
}
