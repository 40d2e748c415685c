//! The layer without axum's router.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::Bytes;
use axum::extract::connect_info::MockConnectInfo;
use axum::http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tollgate_axum::{ConnectInfo, Decision, TollgateLayer};
use tollgate_conformance::{Behaves, Store, five};
use tower::{Layer, Service, ServiceExt};

fn request<T: Clone + Send + Sync + 'static>(peer: T) -> Request<()> {
    let mut request = Request::new(());
    request.extensions_mut().insert(peer);
    request
}

fn peer(host: u8) -> SocketAddr {
    SocketAddr::from(([203, 0, 113, host], 40_000))
}

#[tokio::test]
async fn a_plain_tower_service_is_limited_and_told() {
    let inner = tower::service_fn(|request: Request<()>| {
        let told = request.extensions().get::<Decision>().is_some();
        ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(format!("told: {told}")))))
    });
    let service = TollgateLayer::new(five().0.build().unwrap()).layer(inner);
    for _ in 0..5 {
        let response = service.clone().oneshot(request(ConnectInfo(peer(1)))).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "told: true");
    }
    let refused = service.clone().oneshot(request(ConnectInfo(peer(1)))).await.unwrap();
    assert_eq!(refused.status(), 429);
    assert!(refused.into_body().collect().await.unwrap().to_bytes().starts_with(b"{\"type\""));
    // The same address as a test's mock of a peer.
    let mocked = service.clone().oneshot(request(MockConnectInfo(peer(1)))).await.unwrap();
    assert_eq!(mocked.status(), 429);
    assert_eq!(service.oneshot(request(MockConnectInfo(peer(2)))).await.unwrap().status(), 200);
}

/// A service that must be called on the instance that was polled ready, and counts its drops. Clones are not ready.
struct Strict {
    ready: bool,
    dropped: Arc<AtomicUsize>,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self { ready: false, dropped: Arc::clone(&self.dropped) }
    }
}

impl Service<Request<()>> for Strict {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        assert!(self.ready, "another instance was polled ready");
        self.ready = false;
        ready(Ok(Response::new(Full::default())))
    }
}

impl Drop for Strict {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn the_instance_that_was_polled_ready_is_called() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let strict = Strict { ready: false, dropped: Arc::clone(&dropped) };
    let mut service = TollgateLayer::new(five().0.build().unwrap()).layer(strict);
    for _ in 0..5 {
        let response = service.ready().await.unwrap().call(request(ConnectInfo(peer(1)))).await.unwrap();
        assert_eq!(response.status(), 200);
    }
    assert_eq!(
        service.ready().await.unwrap().call(request(ConnectInfo(peer(1)))).await.unwrap().status(),
        429
    );
    drop(service);
    // A gate of its own clones nothing.
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn the_instance_that_was_polled_ready_is_called_after_waiting() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let strict = Strict { ready: false, dropped: Arc::clone(&dropped) };
    let gate = five().0.shared(Store::new(Behaves::Answers)).build().unwrap();
    let mut service = TollgateLayer::new(gate).layer(strict);
    let mut calls = Vec::new();
    for _ in 0..6 {
        calls.push(service.ready().await.unwrap().call(request(ConnectInfo(peer(1)))));
    }
    let mut statuses = Vec::new();
    for call in calls {
        statuses.push(call.await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429]);
    drop(service);
    assert_eq!(dropped.load(Ordering::Relaxed), 7);
}
