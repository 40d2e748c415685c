//! The suite that every adapter passes, with hyper's own servers.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::service::{Service, service_fn};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tollgate_conformance::{Adapter, App, OWN_FIELDS, conform, tell};
use tollgate_hyper::{RequireInternal, Tollgate, decided, require_internal, throttled};

struct Hyper;

impl Adapter for Hyper {
    const NAME: &'static str = "hyper";

    async fn serve(&self, app: App) -> SocketAddr {
        let listener = TcpListener::bind((app.listen, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (inner, outer) = (tollgate(&app), app.outer.clone().map(Tollgate::new));
        let tells_peers = app.tells_peers;
        let app = Arc::new(app);
        tokio::spawn(async move {
            loop {
                let (stream, peer) = listener.accept().await.unwrap();
                let (stream, peer) = (TokioIo::new(stream), tells_peers.then(|| peer.ip()));
                let app = Arc::clone(&app);
                let api = service_fn(move |request| answer(Arc::clone(&app), request));
                let limited = inner.wrap(api, peer);
                match &outer {
                    Some(outer) => serve(stream, outer.wrap(limited, peer)),
                    None => serve(stream, limited),
                }
            }
        });
        address
    }
}

/// Serves a connection, of either version of HTTP.
fn serve<S, B>(stream: TokioIo<tokio::net::TcpStream>, service: S)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Send + 'static,
    S::Future: Send,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    tokio::spawn(async move {
        // What a caller does wrong is seen in what it is answered.
        let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(stream, service).await;
    });
}

fn tollgate(app: &App) -> Tollgate {
    let tollgate = Tollgate::new(Arc::clone(&app.gate));
    match app.rule {
        None => tollgate,
        Some(rule) => tollgate.terms(move |head, terms| {
            let field = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
            rule.terms(Route::of(head.uri.path()).map(Route::name), head.method.as_str(), field, terms)
        }),
    }
}

/// Routing by hand.
enum Route<'p> {
    Fixed(&'static str),
    Status(&'p str),
    Users(&'p str),
}

impl<'p> Route<'p> {
    fn of(path: &'p str) -> Option<Self> {
        let fixed =
            ["/", "/internal", "/internal/name", "/echo", "/slow", "/fields", "/decision", "/throttled"];
        let one = |prefix| path.strip_prefix(prefix).filter(|rest| !rest.is_empty() && !rest.contains('/'));
        let fixed = fixed.into_iter().find(|fixed| *fixed == path).map(Self::Fixed);
        fixed.or_else(|| one("/status/").map(Self::Status)).or_else(|| one("/users/").map(Self::Users))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Fixed(name) => name,
            Self::Status(_) => "/status/{code}",
            Self::Users(_) => "/users/{id}",
        }
    }
}

async fn answer(app: Arc<App>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_head = request.method() == Method::HEAD;
    let path = request.uri().path().to_owned();
    let mut response = match Route::of(&path) {
        Some(Route::Fixed("/")) => text(app.scene.greet()),
        Some(Route::Fixed("/internal")) => {
            let ours = service_fn(async |_| Ok::<_, Infallible>(text("ours")));
            let answered = RequireInternal::new(ours, Arc::clone(&app.guard)).call(request).await?;
            let (head, body) = answered.into_parts();
            Response::from_parts(head, Full::new(body.collect().await.unwrap().to_bytes()))
        }
        Some(Route::Fixed("/internal/name")) => match require_internal(&app.guard, &request) {
            Ok(name) => text(name.to_string()),
            Err(not_internal) => not_internal.into_response(),
        },
        Some(Route::Fixed("/echo")) => match request.into_body().collect().await {
            Ok(body) => text(body.to_bytes().len().to_string()),
            Err(_) => empty(StatusCode::BAD_REQUEST),
        },
        Some(Route::Fixed("/slow")) => text(app.scene.slow().await),
        Some(Route::Fixed("/fields")) => {
            let mut response = text("own");
            for (name, value) in OWN_FIELDS {
                let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
                response.headers_mut().append(name, value);
            }
            response
        }
        Some(Route::Fixed("/decision")) => {
            let credentials = ["x-internal-token", "authorization"];
            let has_credential = credentials.iter().any(|name| request.headers().contains_key(*name));
            text(tell(decided(&request), has_credential))
        }
        Some(Route::Fixed("/throttled")) => throttled(&app.gate, &request),
        Some(Route::Status(code)) => empty(StatusCode::from_bytes(code.as_bytes()).unwrap()),
        Some(Route::Users(id)) => text(id.to_owned()),
        Some(Route::Fixed(_)) | None => empty(StatusCode::NOT_FOUND),
    };
    if is_head {
        // Over HTTP/2, hyper sends what it is given.
        *response.body_mut() = Full::default();
    }
    Ok(response)
}

fn text(text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    Response::new(Full::new(text.into()))
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

#[test]
fn conforms() {
    conform(Hyper);
}
