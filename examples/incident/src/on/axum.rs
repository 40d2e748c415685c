use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::{get, put};
use axum::{Json, Router};
use bytes::Bytes;
use serde_json::Value;
use tokio::net::TcpListener;
use tollgate_axum::{Decided, RequireInternalLayer, TollgateLayer, throttled};

use crate::api::{self, Api, Data};
use crate::exposition;

pub(super) async fn serve(
    listener: TcpListener,
    api: Api,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let app = app(api).into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, app).with_graceful_shutdown(stopped).await
}

fn app(api: Api) -> Router {
    let counted = api.clone();
    let internal = Router::new()
        .route("/internal/domains/{domain}", get(async |Path(name): Path<String>| Json(api::domain(&name))))
        .route("/internal/turns/{id}", put(save_turn))
        .route(
            "/internal/previews/{id}/access",
            get(async |Path(id): Path<String>| Json(api::preview_access(&id))),
        )
        .layer(DefaultBodyLimit::max(api::LARGEST_TURN))
        .route_layer(RequireInternalLayer::new(api.guard))
        .with_state(api.data);
    Router::new()
        .route("/", get(async || Json(api::root())))
        .route("/metrics", get(async move || ([(CONTENT_TYPE, exposition::CONTENT_TYPE)], counted.metrics())))
        .route("/caller", get(async |Decided(decision): Decided| Json(api::caller(&decision))))
        .merge(internal)
        .layer(TollgateLayer::new(api.limiter.clone()))
        .route("/throttled", throttled(api.limiter))
}

async fn save_turn(
    State(data): State<Arc<Data>>,
    Path(id): Path<String>,
    progress: Bytes,
) -> (StatusCode, Json<Value>) {
    let (status, answer) = data.save_turn(&id, &progress);
    (StatusCode::from_u16(status).unwrap_or_default(), Json(answer))
}
