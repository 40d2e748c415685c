//! How often each outcome allocates, as often as `allocations.tsv` allows. The application allocates nothing.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use http_body_util::{Empty, Full};
use hyper::body::Bytes;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use tollgate_hyper::{Gate, Quota, RequireInternal, Tollgate};

const TOKEN: &str = "the-internal-token-of-32-bytes..";
const BUDGET: &str = include_str!("allocations.tsv");

/// The application, which allocates nothing.
fn bare(_: Request<Empty<Bytes>>) -> Ready<Result<Response<Full<Bytes>>, Infallible>> {
    ready(Ok(Response::new(Full::from("hello"))))
}

fn request(token: Option<&'static str>) -> Request<Empty<Bytes>> {
    let mut request = Request::new(Empty::new());
    // A field that every request has, so that its map is there.
    request.headers_mut().insert("host", "a".parse().unwrap());
    if let Some(token) = token {
        request.headers_mut().insert("x-internal-token", token.parse().unwrap());
    }
    request
}

/// How often a request with this credential allocates, and its status.
fn ask<S, R>(service: &S, token: Option<&'static str>) -> (u64, u16)
where
    S: Service<Request<Empty<Bytes>>, Response = Response<R>, Error = Infallible>,
{
    let request = request(token);
    let mut polled = Poll::Pending;
    let work = measure(|| {
        polled = pin!(service.call(request)).poll(&mut Context::from_waker(Waker::noop()));
    });
    match polled {
        Poll::Ready(Ok(response)) => (work.count_total, response.status().as_u16()),
        Poll::Pending => panic!("it is not ready"),
    }
}

fn allowed(outcome: &str) -> u64 {
    let mut lines = BUDGET.lines().filter_map(|line| line.split_once('\t'));
    lines.find(|(name, _)| *name == outcome).unwrap().1.parse().unwrap()
}

#[test]
fn no_outcome_allocates_more_often_than_is_allowed() {
    let gate = Gate::builder(Quota::per_hour(20)).service("edge", TOKEN).build().map(Arc::new).unwrap();
    let tollgate = Tollgate::new(Arc::clone(&gate));
    let (bare, peer) = (service_fn(bare), "203.0.113.7".parse().ok());
    let open = tollgate.wrap(bare, peer);
    let guarded = tollgate.wrap(RequireInternal::new(bare, gate), peer);
    // What a thread allocates once, it has.
    ask(&open, None);

    assert_eq!(ask(&bare, None), (0, 200), "the application itself");
    let mut wrong = Vec::new();
    let mut outcome = |name, (count, status), expected| {
        assert_eq!(status, expected, "{name}");
        println!("{name}\t{count}");
        // A budget with room to spare would hide what grows.
        if count != allowed(name) {
            wrong.push(format!("{name}: {count} allocations, {} are allowed", allowed(name)));
        }
    };
    let wrapped = measure(|| drop(tollgate.wrap(bare, peer))).count_total;
    outcome("a connection", (wrapped, 200), 200);
    outcome("exempt", ask(&open, Some(TOKEN)), 200);
    outcome("admitted", ask(&open, None), 200);
    outcome("forged, then 401", ask(&guarded, Some("made up")), 401);
    for _ in 0..20 {
        ask(&open, None);
    }
    outcome("refused", ask(&open, None), 429);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
