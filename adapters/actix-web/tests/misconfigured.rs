//! Servers that are not put together right, and what their logs say. In a program of its own, since workers log from
//! threads of theirs.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

use actix_web::dev::Service;
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, HttpServer, web};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tollgate_actix_web::{Decided, Gate, Mode, Quota, RequireInternal, Tollgate};
use tollgate_conformance::{Log, TOKEN};

/// How often something was logged. Each test looks for what no other logs.
fn count(log: &Log, text: &str) -> usize {
    log.read().matches(text).count()
}

fn gate(mode: Mode) -> Arc<Gate> {
    Arc::new(Gate::builder(Quota::per_minute(5)).service("edge", TOKEN).mode(mode).build().unwrap())
}

/// A server on a Unix socket, whose connections have no addresses.
struct Unix(PathBuf);

impl Unix {
    fn serve(name: &str, gate: &Arc<Gate>, terms: fn(&Tollgate) -> Tollgate) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        // It may be there from the last time.
        let _ = std::fs::remove_file(&path);
        let tollgate = terms(&Tollgate::new(Arc::clone(gate)));
        let app = move || App::new().route("/", web::get().to(|| async { "hello" })).wrap(tollgate.clone());
        let listener = UnixListener::bind(&path).unwrap();
        tokio::spawn(HttpServer::new(app).workers(1).disable_signals().listen_uds(listener).unwrap().run());
        Self(path)
    }

    async fn get(&self, fields: &str) -> String {
        let mut stream = UnixStream::connect(&self.0).await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{fields}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

// Abuse 32: a missing peer address is a 500 that names the fix.
#[tokio::test]
async fn without_a_peer_the_answer_is_500_and_the_log_names_the_fix() {
    let log = Log::of_all_threads();
    let server = Unix::serve("no-peer", &gate(Mode::Enforce), Tollgate::clone);
    for _ in 0..3 {
        let answer = server.get("x-forwarded-for: 203.0.113.7\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
        assert!(!answer.contains("HttpServer"), "callers are told nothing: {answer}");
    }
    assert_eq!(count(log, "Answered with 500, like others"), 1, "once a minute");
    assert!(count(log, "serve on a TCP address (`HttpServer::bind`)") >= 1);
    let own = server.get(&format!("x-internal-token: {TOKEN}\r\n")).await;
    assert!(own.starts_with("HTTP/1.1 200 "), "whoever is not counted needs no address: {own}");
}

#[tokio::test]
async fn without_a_peer_shadow_mode_passes_everybody_uncounted_and_says_so() {
    let log = Log::of_all_threads();
    let server = Unix::serve("shadow", &gate(Mode::Shadow), Tollgate::clone);
    for _ in 0..9 {
        let answer = server.get("").await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && !answer.contains("ratelimit"), "{answer}");
    }
    assert_eq!(count(log, "Passed uncounted, in shadow mode"), 1);
}

#[tokio::test]
async fn who_is_counted_by_something_else_needs_no_peer() {
    let by_user = |tollgate: &Tollgate| tollgate.clone().terms(|_, terms| terms.caller("user 4711"));
    let server = Unix::serve("by-user", &gate(Mode::Enforce), by_user);
    for left in (0..5).rev() {
        let answer = server.get("").await;
        assert!(answer.contains(&format!("ratelimit: \"default\";r={left};t=60\r\n")), "{answer}");
    }
    assert!(server.get("").await.starts_with("HTTP/1.1 429 "));
}

#[actix_web::test]
async fn without_the_middleware_the_extractor_is_500_and_the_log_names_the_fix() {
    let log = Log::of_all_threads();
    let maybe = |decided: Option<Decided>| async move { decided.is_some().to_string() };
    let routes = move |config: &mut web::ServiceConfig| {
        let decided = web::get().to(|_: Decided| async { "decided" });
        config.route("/", decided).route("/maybe", web::get().to(maybe));
    };
    let request = |path| {
        let peer = SocketAddr::from(([203, 0, 113, 7], 40_000));
        TestRequest::with_uri(path).peer_addr(peer).to_request()
    };
    let app = init_service(App::new().configure(routes)).await;
    assert_eq!(app.call(request("/maybe")).await.unwrap().status(), 200);
    assert_eq!(count(log, "put `Tollgate` around its route"), 0, "whoever may do without asks nothing wrong");
    assert_eq!(app.call(request("/")).await.unwrap().status(), 500);
    assert_eq!(count(log, "put `Tollgate` around its route"), 1);
    let with = init_service(App::new().configure(routes).wrap(Tollgate::new(gate(Mode::Enforce)))).await;
    assert_eq!(with.call(request("/")).await.unwrap().status(), 200);
    let body = actix_web::test::call_and_read_body(&with, request("/maybe")).await;
    assert_eq!(body, "true");
}

#[actix_web::test]
async fn without_a_gate_the_guard_is_500_and_the_log_names_the_fix() {
    let log = Log::of_all_threads();
    let hello = |RequireInternal(service): RequireInternal| async move { service.to_string() };
    // The mistake: an `Arc` in `Data`, which is one itself.
    let app = App::new().app_data(web::Data::new(gate(Mode::Enforce))).route("/", web::get().to(hello));
    let request = TestRequest::default().insert_header(("x-internal-token", TOKEN)).to_request();
    let response = init_service(app).await.call(request).await.unwrap();
    assert_eq!(response.status(), 500);
    assert_eq!(count(log, "add `.app_data(web::Data::from(gate))`"), 1);
}
