//! Servers and clients of gRPC, of the crate tonic: a refusal is the status that its clients know.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response};
use tollgate_axum::{Clock, ConnectInfo, Gate, ManualClock, Quota, TollgateLayer};
use tonic::Code;
use tonic::service::Routes;
use tonic::transport::server::TcpConnectInfo;
use tonic::transport::{Channel, Endpoint, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::util::{MapRequestLayer, MapResponseLayer};

fn gate() -> Arc<Gate> {
    let clock = Clock::Manual(ManualClock::new());
    let gate =
        Gate::builder(Quota::per_minute(5)).service("edge", "the-internal-token-of-32-bytes..").clock(clock);
    Arc::new(gate.build().unwrap())
}

async fn client(server: SocketAddr) -> HealthClient<Channel> {
    HealthClient::new(Endpoint::new(format!("http://{server}")).unwrap().connect().await.unwrap())
}

/// Five calls pass and tell where they stand, the sixth is refused, and a service's own pass on.
async fn check(server: SocketAddr) {
    let mut client = client(server).await;
    let request = || tonic::Request::new(HealthCheckRequest::default());
    for left in (0..5).rev() {
        let response = client.check(request()).await.unwrap();
        let standing = response.metadata().get("ratelimit").unwrap().to_str().unwrap();
        assert_eq!(standing, format!("\"default\";r={left};t=60"));
    }
    let status = client.check(request()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(status.message(), "The limit of 5 requests in 60 s is used up. Try again in 60 s.");
    assert_eq!(status.metadata().get("grpc-retry-pushback-ms").unwrap(), "59996");
    assert_eq!(status.metadata().get("ratelimit").unwrap(), "\"default\";r=0;t=60");
    for (token, passes) in [("the-internal-token-of-32-bytes..", true), ("a made-up token", false)] {
        let mut request = request();
        request.metadata_mut().insert("x-internal-token", token.parse().unwrap());
        assert_eq!(client.check(request).await.is_ok(), passes);
    }
}

#[tokio::test]
async fn under_tonic_as_a_router_of_axum_s() {
    let (_, health) = tonic_health::server::health_reporter();
    let app = Routes::new(health).into_axum_router().layer(TollgateLayer::new(gate()));
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let server = listener.local_addr().unwrap();
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    check(server).await;
}

/// tonic's own server: its connections' peers are put where the layer finds them, and its bodies made axum's.
#[tokio::test]
async fn under_tonic_s_own_server() {
    let peer = |mut request: Request<tonic::body::Body>| {
        let peer = request.extensions().get::<TcpConnectInfo>().and_then(TcpConnectInfo::remote_addr);
        if let Some(peer) = peer {
            request.extensions_mut().insert(ConnectInfo(peer));
        }
        request
    };
    let body = |response: Response<tonic::body::Body>| response.map(Body::new);
    let (_, health) = tonic_health::server::health_reporter();
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let server = listener.local_addr().unwrap();
    let serving = Server::builder()
        .layer(MapRequestLayer::new(peer))
        .layer(TollgateLayer::new(gate()))
        .layer(MapResponseLayer::new(body))
        .add_service(health)
        .serve_with_incoming(tonic::transport::server::TcpIncoming::from(listener));
    tokio::spawn(async move { serving.await.unwrap() });
    check(server).await;
}
