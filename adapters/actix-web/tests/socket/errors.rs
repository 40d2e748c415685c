//! Errors of handlers, of extractors and of middleware are responses like any other, in the end.

use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::{ErrorServiceUnavailable, ErrorUnauthorized, InternalError};
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, Error, HttpResponse, ResponseError, web};
use tollgate_actix_web::{Clock, Decision, Gate, GateBuilder, Mode, Quota, Tollgate};
use tollgate_conformance::{Caller, five};

use crate::support::{built, serve};

/// An error that says one status and answers with another.
#[derive(Debug)]
struct Inconsistent;

impl std::fmt::Display for Inconsistent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("inconsistent")
    }
}

impl ResponseError for Inconsistent {
    fn error_response(&self) -> HttpResponse {
        HttpResponse::Unauthorized().insert_header(("ratelimit", r#""own";r=1"#)).body("no")
    }
}

async fn fail(path: web::Path<String>) -> Result<String, Error> {
    match path.as_str() {
        "unauthorized" => Err(ErrorUnauthorized("who are you?")),
        "unavailable" => Err(ErrorServiceUnavailable("not now")),
        "inconsistent" => Err(Inconsistent.into()),
        "response" => {
            let response = HttpResponse::Unauthorized().insert_header(("x-own", "kept")).body("no");
            Err(InternalError::from_response("no", response).into())
        }
        _ => Ok("hello".into()),
    }
}

/// The same, by middleware that handles no error.
async fn fail_outside(
    mut request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let path = request.extract::<web::Path<String>>().await?;
    fail(path).await?;
    next.call(request).await
}

/// Serves what fails in the handlers and what fails in middleware: those under `/handler` and those under `/middleware`.
fn failing(gate: GateBuilder) -> Caller {
    let gate = built(gate);
    let server = serve(move || {
        let failing = web::resource("/{how}").wrap(from_fn(fail_outside)).to(|| async { "hello" });
        App::new()
            .route("/handler/{how}", web::get().to(fail))
            .route("/number/{number}", web::get().to(|_: web::Path<u8>| async { "a number" }))
            .service(web::scope("/middleware").service(failing))
            .wrap(Tollgate::new(Arc::clone(&gate)))
    });
    Caller::from(1, server)
}

#[tokio::test]
async fn they_say_where_a_caller_stands() {
    for place in ["/handler", "/middleware"] {
        let caller = failing(five().0);
        let cases = [
            ("unauthorized", 401, "who are you?", vec![r#""default";r=4;t=60"#]),
            ("unavailable", 503, "not now", vec![r#""default";r=3;t=60"#]),
            ("inconsistent", 401, "no", vec![r#""own";r=1"#, r#""default";r=2;t=60"#]),
            ("response", 401, "no", vec![r#""default";r=1;t=60"#]),
            ("none", 200, "hello", vec![r#""default";r=0;t=60"#]),
        ];
        for (how, status, body, told) in cases {
            let reply = caller.get(&format!("{place}/{how}")).await;
            assert_eq!((reply.status, &*reply.body), (status, body.as_bytes()), "{place} {how}");
            assert_eq!(reply.lines("ratelimit"), told, "{place} {how}");
            assert_eq!(reply.lines("ratelimit-policy"), [r#""default";q=5;w=60"#]);
            assert_eq!(reply.lines("x-own").len(), usize::from(how == "response"), "{place} {how}");
        }
        assert_eq!(caller.statuses(&format!("{place}/unauthorized"), 1).await, [429]);
    }
}

#[tokio::test]
async fn errors_of_extractors_do_too() {
    let reply = failing(five().0).get("/number/many").await;
    assert_eq!((reply.status, reply.lines("ratelimit")), (404, vec![r#""default";r=4;t=60"#]));
}

#[tokio::test]
async fn they_are_charged_by_the_status_that_is_sent() {
    for place in ["/handler", "/middleware"] {
        let caller = failing(five().0.charge_if(|status| status == 401));
        let get = async |how| {
            let reply = caller.get(&format!("{place}/{how}")).await;
            (reply.status, reply.lines("ratelimit").join(", "))
        };
        for _ in 0..10 {
            assert_eq!(get("unavailable").await, (503, r#""default";r=5"#.into()));
            assert_eq!(get("none").await, (200, r#""default";r=5"#.into()));
        }
        assert_eq!(get("unauthorized").await, (401, r#""default";r=4;t=60"#.into()));
        assert_eq!(get("response").await, (401, r#""default";r=3;t=60"#.into()));
        assert_eq!(get("inconsistent").await, (401, r#""own";r=1, "default";r=2;t=60"#.into()));
    }
}

/// Middleware that looks at an error's response before it passes it on, and notes a shadow's refusal.
async fn look(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let asked = request.request().uri().clone();
    next.call(request).await.inspect_err(|error| {
        let noted =
            error.error_response().extensions().get::<Decision>().is_some_and(Decision::is_over_limit);
        assert_eq!(noted, asked.query() == Some("over"));
    })
}

#[tokio::test]
async fn a_response_that_is_made_twice_is_settled_once() {
    let (inner, clock) = five();
    let inner = built(inner.mode(Mode::Shadow).policy_name("inner").charge_if(|status| status == 503));
    let outer = built(Gate::builder(Quota::per_minute(9)).policy_name("outer").clock(Clock::Manual(clock)));
    let server = serve(move || {
        let failing = web::resource("/{how}").wrap(from_fn(fail_outside)).to(|| async { "hello" });
        App::new()
            .service(failing)
            .wrap(Tollgate::new(Arc::clone(&inner)))
            .wrap(Tollgate::new(Arc::clone(&outer)))
            .wrap(from_fn(look))
    });
    let caller = Caller::from(1, server);
    for left in (3..9).rev() {
        let reply = caller.get("/unauthorized").await;
        let told = ["\"inner\";r=5".to_owned(), format!("\"outer\";r={left};t=60")];
        assert_eq!((reply.status, reply.lines("ratelimit")), (401, told.each_ref().map(|t| &**t).to_vec()));
    }
}

#[tokio::test]
async fn shadow_refusals_are_noted_on_errors_too() {
    let gate = built(five().0.mode(Mode::Shadow));
    let server = serve(move || {
        let failing = web::resource("/{how}").wrap(from_fn(fail_outside)).to(|| async { "hello" });
        App::new().service(failing).wrap(Tollgate::new(Arc::clone(&gate))).wrap(from_fn(look))
    });
    let caller = Caller::from(1, server);
    assert_eq!(caller.statuses("/unavailable", 5).await, [503; 5]);
    assert_eq!(caller.statuses("/unavailable?over", 5).await, [503; 5]);
}
