use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::{Service, service_fn};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tollgate_hyper::{Tollgate, decided, require_internal, throttled};

use crate::api::{self, Api};
use crate::exposition;

pub(super) async fn serve(
    listener: TcpListener,
    api: Api,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let tollgate = Tollgate::new(api.limiter.clone());
    let (graceful, mut stopped) = (GracefulShutdown::new(), pin!(stopped));
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                // Of one connection, or for want of file descriptors: others go on.
                Err(error) => {
                    tracing::warn!("a connection was not accepted: {error}");
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                    continue;
                }
            },
            () = &mut stopped => break,
        };
        let (api, gate) = (api.clone(), api.limiter.clone());
        let answer = service_fn(move |request| {
            let api = api.clone();
            async move { Ok::<_, Infallible>(answer(&api, request).await) }
        });
        let limited = tollgate.wrap(answer, Some(peer.ip()));
        // Outside of the limits, so that whoever is throttled can look.
        let all = service_fn(move |request: Request<Incoming>| {
            let answered = match request.uri().path() {
                "/throttled" => Either::Left(throttled(&gate, &request)),
                _ => Either::Right(limited.call(request)),
            };
            async move {
                Ok::<_, Infallible>(match answered {
                    Either::Left(report) => report.map(Either::Left),
                    Either::Right(passed) => passed.await?.map(Either::Right),
                })
            }
        });
        let server = auto::Builder::new(TokioExecutor::new());
        let connection = server.serve_connection(TokioIo::new(stream), all);
        let connection = graceful.watch(connection.into_owned());
        // Whatever is wrong with a connection is its client's to see.
        tokio::spawn(async move { drop(connection.await) });
    }
    graceful.shutdown().await;
    Ok(())
}

async fn answer(api: &Api, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    let parts: Vec<_> = path.split('/').skip(1).collect();
    if parts.first() == Some(&"internal")
        && route(&parts).is_some()
        && let Err(not_internal) = require_internal(&api.guard, &request)
    {
        return not_internal.into_response();
    }
    let Some(wanted) = route(&parts) else { return empty(StatusCode::NOT_FOUND) };
    let is_read = wanted == Method::GET && request.method() == Method::HEAD;
    if *request.method() != wanted && !is_read {
        let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
        let allow = if wanted == Method::GET { "GET,HEAD" } else { "PUT" };
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
        return response;
    }
    match parts[..] {
        ["caller"] => match decided(&request) {
            Some(decision) => ok(&api::caller(decision)),
            None => empty(StatusCode::INTERNAL_SERVER_ERROR),
        },
        ["metrics"] => {
            let mut response = Response::new(Full::from(api.metrics()));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(exposition::CONTENT_TYPE));
            response
        }
        ["internal", "domains", domain] => ok(&api::domain(&decoded(domain))),
        ["internal", "previews", id, "access"] => ok(&api::preview_access(&decoded(id))),
        ["internal", "turns", id] => {
            match Limited::new(request.into_body(), api::LARGEST_TURN).collect().await {
                Ok(progress) => {
                    let (status, answer) = api.data.save_turn(&decoded(id), &progress.to_bytes());
                    json_of(StatusCode::from_u16(status).unwrap_or_default(), &answer)
                }
                Err(error) => json_of(StatusCode::PAYLOAD_TOO_LARGE, &json!({"error": error.to_string()})),
            }
        }
        _ => ok(&api::root()),
    }
}

/// The method that a path is for, if there is such a path.
fn route(parts: &[&str]) -> Option<Method> {
    match parts {
        ["" | "caller" | "metrics"] | ["internal", "domains", _] | ["internal", "previews", _, "access"] => {
            Some(Method::GET)
        }
        ["internal", "turns", _] => Some(Method::PUT),
        _ => None,
    }
}

fn decoded(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

fn ok(value: &Value) -> Response<Full<Bytes>> {
    json_of(StatusCode::OK, value)
}

fn json_of(status: StatusCode, value: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}
