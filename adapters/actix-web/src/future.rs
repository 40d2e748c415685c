use std::cell::{Cell, OnceCell};
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_web::body::EitherBody;
use actix_web::dev::ServiceResponse;
use actix_web::{Error, HttpResponse};
use pin_project_lite::pin_project;
use tollgate_http::{Decision, Fields, Permit};

use crate::response::add;

pin_project! {
    /// The response of [`TollgateService`](crate::TollgateService) or
    /// [`RequireInternalService`](crate::RequireInternalService): the application's, or the gate's own.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, B> {
        #[pin]
        kind: Kind<F, B>,
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind<F, B> {
        Passed {
            #[pin]
            future: F,
            permit: Option<Permit>,
        },
        Answered {
            #[pin]
            answer: Ready<Result<ServiceResponse<EitherBody<B>>, Error>>,
        },
    }
}

impl<F, B> ResponseFuture<F, B> {
    pub(crate) fn passed(future: F, permit: Option<Permit>) -> Self {
        Self { kind: Kind::Passed { future, permit } }
    }

    pub(crate) fn answered(response: ServiceResponse) -> Self {
        Self { kind: Kind::Answered { answer: ready(Ok(response.map_into_right_body())) } }
    }
}

impl<F, B> Future for ResponseFuture<F, B>
where
    F: Future<Output = Result<ServiceResponse<B>, Error>>,
{
    type Output = Result<ServiceResponse<EitherBody<B>>, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().kind.project() {
            KindProjection::Passed { future, permit } => {
                let mut result = ready!(future.poll(cx));
                // Taken, since a request is settled once and no longer under way.
                if let Some(permit) = permit.take() {
                    settle(permit, &mut result);
                }
                Poll::Ready(result.map(ServiceResponse::map_into_left_body))
            }
            KindProjection::Answered { answer } => answer.poll(cx),
        }
    }
}

fn settle<B>(permit: Permit, result: &mut Result<ServiceResponse<B>, Error>) {
    match result {
        Ok(response) => Settled::with(permit, response.response()).tell(response.response_mut()),
        Err(error) => {
            // Its response is not made yet, and may be made more than once; the first is what the request comes to.
            let (permit, settled) = (Cell::new(Some(permit)), OnceCell::new());
            error.add_response_mapper(move |mut response| {
                if let Some(permit) = permit.take() {
                    let _ = settled.set(Settled::with(permit, &response));
                }
                settled.get().into_iter().for_each(|settled: &Settled| settled.tell(&mut response));
                response
            });
        }
    }
}

/// What a response is told.
struct Settled {
    fields: Option<Fields>,
    /// For outer middleware: who would be refused, were the gate not in shadow mode. A refusal further inside says more.
    over: Option<Decision>,
}

impl Settled {
    fn with<B>(permit: Permit, response: &HttpResponse<B>) -> Self {
        let extensions = response.extensions();
        let inner = extensions.get();
        let over = (permit.decision().is_over_limit() && inner.is_none()).then(|| permit.decision().clone());
        Self { fields: permit.settle(response.status().as_u16(), inner), over }
    }

    fn tell<B>(&self, response: &mut HttpResponse<B>) {
        self.fields.iter().flat_map(Fields::iter).for_each(|field| add(response.headers_mut(), field));
        if let Some(over) = &self.over {
            response.extensions_mut().insert(over.clone());
        }
    }
}
