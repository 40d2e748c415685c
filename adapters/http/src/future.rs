use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::pending::{Heard, Pending};
use crate::permit::Permit;

pin_project! {
    /// The response to a request that came to a [`Checkpoint`](crate::Checkpoint): the application's, or the gate's own.
    ///
    /// Where a gate's budgets are [shared](crate::GateBuilder::shared), the request may have to wait for its store; `W` is
    /// what is kept of it meanwhile, and the service that it goes on to.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F: Future, R, W = Infallible> {
        #[pin]
        kind: Kind<F, R, W>,
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind<F: Future, R, W> {
        Passed {
            #[pin]
            future: F,
            permit: Option<Permit>,
            settle: Settle<F::Output, R>,
        },
        Answered {
            #[pin]
            answer: Ready<R>,
        },
        // In a box, since it is seldom and would make every other longer.
        Waiting {
            waiting: Box<Waiting<F, R, W>>,
        },
    }
}

/// An adapter's function that settles a request when its response `O` is there, and makes of it the `R` that is sent.
///
/// It is called with whatever polling the application comes to, so that no response is moved on its way there: of
/// [`Poll::Pending`] it makes the same, and of a response another, with which it settles the permit. There is none if the
/// request was not counted.
pub type Settle<O, R> = fn(&mut Option<Permit>, Poll<O>) -> Poll<R>;

struct Waiting<F: Future, R, W> {
    pending: Pending,
    kept: Option<W>,
    resume: fn(W, Heard) -> ResponseFuture<F, R, W>,
}

impl<F: Future, R, W> ResponseFuture<F, R, W> {
    /// Of a request that goes on: the application's, settled by a function of the adapter.
    pub fn passed(future: F, permit: Option<Permit>, settle: Settle<F::Output, R>) -> Self {
        Self { kind: Kind::Passed { future, permit, settle } }
    }

    /// Of a request that does not.
    pub fn answered(answer: R) -> Self {
        Self { kind: Kind::Answered { answer: ready(answer) } }
    }

    /// Of a request that waits for a store: what the adapter's function makes of its answer and of what was `kept`.
    #[cold]
    pub fn waiting(pending: Pending, kept: W, resume: fn(W, Heard) -> Self) -> Self {
        Self { kind: Kind::Waiting { waiting: Box::new(Waiting { pending, kept: Some(kept), resume }) } }
    }
}

impl<F: Future, R, W> Future for ResponseFuture<F, R, W> {
    type Output = R;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let mut kind = self.project().kind;
        loop {
            let resumed = match kind.as_mut().project() {
                KindProjection::Passed { future, permit, settle } => return settle(permit, future.poll(cx)),
                KindProjection::Answered { answer } => return answer.poll(cx),
                KindProjection::Waiting { waiting } => ready!(waiting.resumed(cx)),
            };
            kind.set(resumed.kind);
        }
    }
}

impl<F: Future, R, W> Waiting<F, R, W> {
    #[cold]
    fn resumed(&mut self, cx: &mut Context<'_>) -> Poll<ResponseFuture<F, R, W>> {
        let heard = ready!(Pin::new(&mut self.pending).poll(cx));
        match self.kept.take() {
            Some(kept) => Poll::Ready((self.resume)(kept, heard)),
            // There is one answer, and what was kept is taken with it.
            None => Poll::Pending,
        }
    }
}
