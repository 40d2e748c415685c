//! Allocations that the layer adds to a request, by outcome, against the budget in `allocations.tsv`. A program of its
//! own, since other tests' threads would be counted.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;

use allocation_counter::measure;
use axum::extract::ConnectInfo;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tollgate_axum::{Clock, Gate, ManualClock, Quota, RequireInternalLayer, TollgateLayer};
use tollgate_conformance::{Behaves, Store};
use tower::{Layer, Service, service_fn};

const TOKEN: &str = "the-internal-token-of-32-bytes..";

/// A request as a server hands it on: with the peer's address in its extensions, and a field.
fn request(token: Option<&'static str>) -> Request<()> {
    let peer: SocketAddr = "203.0.113.7:1".parse().unwrap();
    let request = Request::get("/").extension(ConnectInfo(peer)).header("host", "example");
    let request = token.into_iter().fold(request, |request, token| request.header("x-internal-token", token));
    request.body(()).unwrap()
}

/// An application that answers without a field.
fn hello(_: Request<()>) -> Ready<Result<Response<Full<Bytes>>, Infallible>> {
    ready(Ok(Response::new(Full::from("hello"))))
}

/// How many allocations one call makes, its response dropped.
fn allocations<S>(service: &mut S, token: Option<&'static str>, status: u16) -> u64
where
    S: Service<Request<()>, Response = Response<Full<Bytes>>, Error = Infallible>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    // The first call may allocate what later ones find.
    let mut counts = (0..3).map(|_| {
        let request = request(token);
        let work = measure(|| {
            let response = runtime.block_on(service.call(request)).unwrap();
            assert_eq!(response.status(), status);
        });
        work.count_total
    });
    counts.by_ref().last().unwrap()
}

#[test]
fn each_outcome_keeps_its_budget() {
    let gate = || {
        let clock = Clock::Manual(ManualClock::new());
        Gate::builder(Quota::per_minute(6)).service("edge", TOKEN).clock(clock).build().unwrap()
    };
    let shared = |behaves| {
        let gate = Gate::builder(Quota::per_minute(6)).clock(Clock::Manual(ManualClock::new()));
        gate.shared(Store::new(behaves)).build().unwrap()
    };
    let layered = |gate| TollgateLayer::new(gate).layer(service_fn(hello));
    let bare = allocations(&mut service_fn(hello), None, 200);
    let refused = {
        let mut service = layered(gate());
        allocations(&mut service, None, 200);
        allocations(&mut service, None, 200);
        allocations(&mut service, None, 429)
    };
    let guarded = {
        let gate = std::sync::Arc::new(gate());
        TollgateLayer::new(gate.clone()).layer(RequireInternalLayer::new(gate).layer(service_fn(hello)))
    };
    let measured = BTreeMap::from([
        ("admitted", allocations(&mut layered(gate()), None, 200) - bare),
        ("exempt", allocations(&mut layered(gate()), Some(TOKEN), 200) - bare),
        ("forged, then 401", allocations(&mut guarded.clone(), Some("a made-up token"), 401) - bare),
        ("refused", refused - bare),
        ("shared, asked", allocations(&mut layered(shared(Behaves::Answers)), None, 200) - bare),
        ("shared, known", allocations(&mut layered(shared(Behaves::Knows)), None, 200) - bare),
    ]);
    let budget: BTreeMap<_, u64> = include_str!("allocations.tsv")
        .lines()
        .skip(1)
        .map(|line| line.split_once('\t').unwrap())
        .map(|(outcome, count)| (outcome, count.parse().unwrap()))
        .collect();
    assert!(budget.keys().eq(measured.keys()), "{budget:?} {measured:?}");
    assert!(
        measured.iter().all(|(outcome, count)| *count <= budget[outcome]),
        "{measured:?} exceed {budget:?}"
    );
    // A budget with room to spare hides what grows.
    assert!(
        measured.iter().all(|(outcome, count)| count + 1 >= budget[outcome]),
        "{measured:?} are far below {budget:?}"
    );
}
