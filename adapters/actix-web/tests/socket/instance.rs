//! The middleware without a server: readiness, and futures that are dropped.

use std::cell::Cell;
use std::future::{Future, Pending, Ready, pending, poll_fn, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::error::ErrorServiceUnavailable;
use actix_web::test::TestRequest;
use actix_web::{Error, HttpResponse};
use tollgate_actix_web::Tollgate;
use tollgate_conformance::five;

use crate::support::built;

fn request() -> ServiceRequest {
    TestRequest::default().peer_addr(SocketAddr::from(([203, 0, 113, 7], 40_000))).to_srv_request()
}

/// Counts its drops.
#[derive(Default)]
struct Dropped(Rc<Cell<usize>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

/// A service that must be called on the instance that was polled ready.
struct Strict {
    ready: Cell<bool>,
    _dropped: Dropped,
}

impl Service<ServiceRequest> for Strict {
    type Response = ServiceResponse;
    type Error = Error;
    type Future = Ready<Result<Self::Response, Error>>;

    fn poll_ready(&self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // At the second time, as a service that has to make room first.
        if self.ready.replace(true) { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn call(&self, request: ServiceRequest) -> Self::Future {
        assert!(self.ready.replace(false), "another instance was polled ready");
        ready(Ok(request.into_response(HttpResponse::Ok().finish())))
    }
}

#[tokio::test]
async fn the_instance_that_was_polled_ready_is_called() {
    let dropped = Dropped::default();
    let strict = Strict { ready: Cell::new(false), _dropped: Dropped(Rc::clone(&dropped.0)) };
    let service = Tollgate::new(built(five().0)).new_transform(strict).await.unwrap();
    for _ in 0..5 {
        assert!(service.poll_ready(&mut Context::from_waker(Waker::noop())).is_pending());
        poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
        assert_eq!(service.call(request()).await.unwrap().status(), 200);
    }
    assert_eq!(service.call(request()).await.unwrap().status(), 429);
    assert_eq!(dropped.0.get(), 0);
    drop(service);
    assert_eq!(dropped.0.get(), 1);
}

/// A request that is never answered.
struct Endless {
    future: Pending<()>,
    _dropped: Dropped,
}

impl Future for Endless {
    type Output = Result<ServiceResponse, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.future).poll(cx).map(|()| unreachable!())
    }
}

#[tokio::test]
async fn an_error_is_under_way_until_its_response_is_made() {
    let fails = actix_web::dev::fn_service(|_: ServiceRequest| {
        ready(Err::<ServiceResponse, Error>(ErrorServiceUnavailable("not now")))
    });
    let fails = actix_web::dev::ServiceFactory::new_service(&fails, ()).await.unwrap();
    let gate = built(five().0.in_flight(1));
    let service = Tollgate::new(Arc::clone(&gate)).new_transform(fails).await.unwrap();
    let first = service.call(request()).await.unwrap_err();
    assert_eq!(service.call(request()).await.unwrap().status(), 429, "one is under way");
    assert_eq!(first.error_response().status(), 503);
    let second = service.call(request()).await.unwrap_err();
    // Made once more, it gives nothing back that is another's.
    assert_eq!(first.error_response().status(), 503);
    assert_eq!(service.call(request()).await.unwrap().status(), 429);
    drop((first, second));
    service.call(request()).await.unwrap_err();
}

#[tokio::test]
async fn a_request_that_is_given_up_is_dropped_once_and_no_longer_under_way() {
    let dropped = Dropped::default();
    let inner = Rc::clone(&dropped.0);
    let endless = actix_web::dev::fn_service(move |_: ServiceRequest| Endless {
        future: pending(),
        _dropped: Dropped(Rc::clone(&inner)),
    });
    let endless = actix_web::dev::ServiceFactory::new_service(&endless, ()).await.unwrap();
    let gate = built(five().0.in_flight(1).charge_if(|_| false));
    let service = Tollgate::new(Arc::clone(&gate)).new_transform(endless).await.unwrap();
    for given_up in 0..5 {
        let mut future = Box::pin(service.call(request()));
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let mut second = Box::pin(service.call(request()));
        let second = second.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(second, Poll::Ready(Ok(refused)) if refused.status() == 429), "one is under way");
        assert_eq!(dropped.0.get(), given_up);
        drop(future);
        assert_eq!(dropped.0.get(), given_up + 1);
    }
    let refused = service.call(request()).await.unwrap();
    let told = refused.headers().get("ratelimit").unwrap();
    assert_eq!(told, r#""default";r=0;t=60"#, "each has paid");
}
