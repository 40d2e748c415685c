//! Allocations that the middleware adds to a request, by outcome, against the budget in `allocations.tsv`. A program of
//! its own, since other tests' threads would be counted. What actix-web keeps for later requests is there already.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::collections::BTreeMap;
use std::future::{Future, Ready, ready};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::http::StatusCode;
use actix_web::test::TestRequest;
use actix_web::{Error, HttpResponse};
use allocation_counter::measure;
use tollgate_actix_web::{Gate, Quota, RequireInternalLayer, Tollgate};

const TOKEN: &str = "the-internal-token-of-32-bytes..";

/// An application that allocates nothing.
struct Hello;

impl Service<ServiceRequest> for Hello {
    type Response = ServiceResponse;
    type Error = Error;
    type Future = Ready<Result<ServiceResponse, Error>>;

    fn poll_ready(&self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&self, request: ServiceRequest) -> Self::Future {
        ready(Ok(request.into_response(HttpResponse::new(StatusCode::OK))))
    }
}

/// What a future that is ready at once says.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it is not ready"),
    }
}

/// How often a request with this credential allocates, and its status.
fn ask<S, B>(service: &S, token: Option<&str>) -> (u64, u16)
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody,
{
    let request = TestRequest::default()
        .peer_addr(SocketAddr::from(([203, 0, 113, 7], 40_000)))
        .insert_header(("user-agent", "a client"))
        .insert_header(("accept", "*/*"));
    let request =
        token.into_iter().fold(request, |request, token| request.insert_header(("x-internal-token", token)));
    let request = request.to_srv_request();
    let mut response = None;
    let work = measure(|| response = Some(now(service.call(request)).unwrap()));
    (work.count_total, response.unwrap().status().as_u16())
}

/// Each outcome and how often it may allocate.
fn budget() -> BTreeMap<&'static str, u64> {
    let lines = include_str!("allocations.tsv").lines().skip(1);
    lines
        .map(|line| line.split_once('\t').unwrap())
        .map(|(name, count)| (name, count.parse().unwrap()))
        .collect()
}

#[test]
fn each_outcome_keeps_its_budget() {
    let gate = Arc::new(Gate::builder(Quota::per_hour(20)).service("edge", TOKEN).build().unwrap());
    let guarded = now(RequireInternalLayer::new(Arc::clone(&gate)).new_transform(Hello)).unwrap();
    let guarded = now(Tollgate::new(Arc::clone(&gate)).new_transform(guarded)).unwrap();
    let open = now(Tollgate::new(gate).new_transform(Hello)).unwrap();
    // Fills actix-web's pools.
    assert_eq!(ask(&open, None).1, 200);

    assert_eq!(ask(&Hello, None), (0, 200), "the application itself");
    let outcome = |(count, status), expected| {
        assert_eq!(status, expected);
        count
    };
    let mut measured = BTreeMap::from([
        ("admitted", outcome(ask(&open, None), 200)),
        ("exempt", outcome(ask(&open, Some(TOKEN)), 200)),
        ("forged, then 401", outcome(ask(&guarded, Some("made up")), 401)),
    ]);
    while ask(&open, None).1 == 200 {}
    measured.insert("refused", outcome(ask(&open, None), 429));
    // Nor far below, since a budget with room to spare hides what grows.
    let budget = budget();
    let keeps =
        |(name, count): (&&str, &u64)| (budget[name].saturating_sub(1)..=budget[name]).contains(count);
    assert!(measured.keys().eq(budget.keys()) && measured.iter().all(keeps), "{measured:?}, not {budget:?}");
}
