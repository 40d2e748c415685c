use std::future::Future;
use std::io;

use actix_web::http::StatusCode;
use actix_web::web::{self, Bytes, Data, Path, PayloadConfig};
use actix_web::{App, HttpResponse, HttpServer};
use tokio::net::TcpListener;
use tollgate_actix_web::{Decided, RequireInternalLayer, Tollgate, throttled};

use crate::api::{self, Api};
use crate::exposition;

pub(super) async fn serve(
    listener: TcpListener,
    api: Api,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let server = HttpServer::new(move || {
        let internal = web::scope("/internal")
            .wrap(RequireInternalLayer::new(api.guard.clone()))
            .route("/domains/{domain}", web::get().to(domain))
            .route("/previews/{id}/access", web::get().to(preview_access))
            .route("/turns/{id}", web::put().to(save_turn));
        let limited = web::scope("")
            .route("/", web::get().to(async || web::Json(api::root())))
            .route(
                "/caller",
                web::get().to(async |Decided(decision): Decided| web::Json(api::caller(&decision))),
            )
            .route("/metrics", web::get().to(metrics))
            .service(internal)
            .wrap(Tollgate::new(api.limiter.clone()));
        App::new()
            .app_data(Data::from(api.data.clone()))
            .app_data(Data::new(api.clone()))
            .app_data(PayloadConfig::new(api::LARGEST_TURN))
            .route("/throttled", throttled(api.limiter.clone()))
            .service(limited)
    });
    let server = server.workers(2).disable_signals().listen(listener.into_std()?)?.run();
    let handle = server.handle();
    tokio::spawn(async move {
        stopped.await;
        handle.stop(true).await;
    });
    server.await
}

async fn metrics(api: Data<Api>) -> HttpResponse {
    HttpResponse::Ok().content_type(exposition::CONTENT_TYPE).body(api.metrics())
}

async fn domain(name: Path<String>) -> web::Json<serde_json::Value> {
    web::Json(api::domain(&name))
}

async fn preview_access(id: Path<String>) -> web::Json<serde_json::Value> {
    web::Json(api::preview_access(&id))
}

async fn save_turn(data: Data<api::Data>, id: Path<String>, progress: Bytes) -> HttpResponse {
    let (status, answer) = data.save_turn(&id, &progress);
    HttpResponse::build(StatusCode::from_u16(status).unwrap_or_default()).json(answer)
}
