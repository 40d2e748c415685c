use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;
use tollgate_http::{Decision, Gate, Permit};

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

/// A request that was counted and passes.
pub(crate) struct Told {
    pub(crate) gate: Arc<Gate>,
    pub(crate) decision: Decision,
    pub(crate) permit: Option<Permit>,
}

impl Told {
    fn tell<R>(self, response: &mut Response<R>) {
        if let Some(fields) = self.gate.settle(&self.decision, response.status().as_u16()) {
            fields.iter().for_each(|field| add(response.headers_mut(), field));
        }
        if self.decision.is_over_limit() {
            // For outer layers: who would be refused, were the gate not in shadow mode.
            response.extensions_mut().insert(self.decision);
        }
        drop(self.permit);
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind<F, R, E> {
        Passed {
            #[pin]
            future: F,
            told: Option<Told>,
        },
        Answered {
            #[pin]
            answer: Ready<Result<Response<R>, E>>,
        },
    }
}

impl<F, R, E> ResponseFuture<F, R, E> {
    pub(crate) fn passed(future: F, told: Option<Told>) -> Self {
        Self { kind: Kind::Passed { future, told } }
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
            KindProjection::Passed { future, told } => {
                let mut result = ready!(future.poll(cx));
                // Taken, since a request is settled once and no longer under way.
                if let (Ok(response), Some(told)) = (&mut result, told.take()) {
                    told.tell(response);
                }
                Poll::Ready(result)
            }
            KindProjection::Answered { answer } => answer.poll(cx),
        }
    }
}
