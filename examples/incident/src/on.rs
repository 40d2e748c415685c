//! The frameworks that serve the API, each by its own adapter.

mod actix_web;
mod axum;
mod hyper;

use std::future::Future;
use std::io;

use tokio::net::TcpListener;

use crate::api::Api;
use crate::options::Framework;

/// Serves until `stopped`, and then ends the requests that are under way.
pub(crate) async fn serve(
    framework: Framework,
    listener: TcpListener,
    api: Api,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    match framework {
        Framework::Axum => axum::serve(listener, api, stopped).await,
        Framework::Hyper => hyper::serve(listener, api, stopped).await,
        Framework::ActixWeb => actix_web::serve(listener, api, stopped).await,
    }
}
