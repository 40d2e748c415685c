use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::permit::Permit;

pin_project! {
    /// The response to a request that came to a [`Checkpoint`](crate::Checkpoint): the application's, or the gate's own.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F: Future, R> {
        #[pin]
        kind: Kind<F, R>,
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind<F: Future, R> {
        Passed {
            #[pin]
            future: F,
            permit: Option<Permit>,
            settle: fn(Option<Permit>, F::Output) -> R,
        },
        Answered {
            #[pin]
            answer: Ready<R>,
        },
    }
}

impl<F: Future, R> ResponseFuture<F, R> {
    /// Of a request that goes on: the application's, settled by a function of the adapter.
    pub fn passed(future: F, permit: Option<Permit>, settle: fn(Option<Permit>, F::Output) -> R) -> Self {
        Self { kind: Kind::Passed { future, permit, settle } }
    }

    /// Of a request that does not.
    pub fn answered(answer: R) -> Self {
        Self { kind: Kind::Answered { answer: ready(answer) } }
    }
}

impl<F: Future, R> Future for ResponseFuture<F, R> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        match self.project().kind.project() {
            KindProjection::Passed { future, permit, settle } => {
                let result = ready!(future.poll(cx));
                // Taken, since a request is settled once and no longer under way.
                Poll::Ready(settle(permit.take(), result))
            }
            KindProjection::Answered { answer } => answer.poll(cx),
        }
    }
}
