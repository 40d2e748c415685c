//! The suite that every adapter passes, with actix-web's own server.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::middleware::Condition;
use actix_web::web::{self, Bytes};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use tollgate_actix_web::{Decided, RequireInternal, RequireInternalLayer, Tollgate, throttled};
use tollgate_conformance::{Adapter, Lack, OWN_FIELDS, Scene, conform, tell};

struct ActixWeb;

const PEERS: &str = "actix-web always knows the peer of a TCP connection";

const INVITATION: &str = "actix-http says `100 Continue` before the application has the request";
const STREAMS: &str =
    "actix-http goes on with a request whose stream of HTTP/2 was reset, so it stays under way until it ends";

impl Adapter for ActixWeb {
    const NAME: &'static str = "actix-web";

    const LACKS: &'static [Lack] = &[
        Lack { case: "refusals_do_not_invite", reason: INVITATION },
        Lack { case: "reset_streams_make_room", reason: STREAMS },
        Lack { case: "an_unknown_peer_is_500", reason: PEERS },
        Lack { case: "an_unknown_peer_may_pass", reason: PEERS },
        Lack { case: "an_unknown_peer_in_other_modes", reason: PEERS },
    ];

    async fn serve(&self, app: tollgate_conformance::App) -> SocketAddr {
        let listener = TcpListener::bind((app.listen, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let workers = app.workers;
        let factory = move || {
            let outer = Tollgate::new(Arc::clone(app.outer.as_ref().unwrap_or(&app.gate)));
            App::new()
                .configure(|config| routes(config, &app))
                .wrap(tollgate(&app))
                .wrap(Condition::new(app.outer.is_some(), outer))
        };
        let server = HttpServer::new(factory).workers(workers).disable_signals();
        tokio::spawn(server.listen_auto_h2c(listener).unwrap().run());
        address
    }
}

fn routes(config: &mut web::ServiceConfig, app: &tollgate_conformance::App) {
    let guard = RequireInternalLayer::new(Arc::clone(&app.guard));
    config
        .app_data(web::Data::from(Arc::clone(&app.scene)))
        .app_data(web::Data::from(Arc::clone(&app.guard)))
        .app_data(web::PayloadConfig::new(8 << 20))
        .service(web::resource("/internal").wrap(guard).to(async || "ours"))
        .route("/internal/name", web::to(async |RequireInternal(name): RequireInternal| name.to_string()))
        .route("/", web::to(async |scene: web::Data<Scene>| scene.greet()))
        .route("/echo", web::to(async |body: Bytes| body.len().to_string()))
        .route("/status/{code}", web::to(status))
        .route("/slow", web::to(async |scene: web::Data<Scene>| scene.slow().await))
        .route("/fields", web::to(fields))
        .route("/users/{id}", web::to(async |id: web::Path<String>| id.into_inner()))
        .route("/decision", web::to(decision))
        .route("/throttled", throttled(Arc::clone(&app.gate)));
}

fn tollgate(app: &tollgate_conformance::App) -> Tollgate {
    let tollgate = Tollgate::new(Arc::clone(&app.gate));
    match app.rule {
        None => tollgate,
        Some(rule) => tollgate.terms(move |head, terms| {
            let field = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
            rule.terms(head.matched_path().as_deref(), head.method.as_str(), field, terms)
        }),
    }
}

async fn status(code: web::Path<u16>) -> HttpResponse {
    HttpResponse::new(StatusCode::from_u16(*code).unwrap())
}

async fn fields() -> HttpResponse {
    let mut response = HttpResponse::Ok();
    for field in OWN_FIELDS {
        response.append_header(field);
    }
    response.body("own")
}

async fn decision(decided: Option<Decided>, request: HttpRequest) -> String {
    let has_credential =
        ["x-internal-token", "authorization"].iter().any(|name| request.headers().contains_key(*name));
    tell(decided.as_ref().map(|Decided(decision)| decision), has_credential)
}

#[test]
fn conforms() {
    conform(ActixWeb);
}
