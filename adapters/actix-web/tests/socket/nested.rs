//! Several limiters around each other, and other middleware around them.

use std::sync::Arc;

use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{App, HttpResponse, web};
use http::Method;
use tollgate_actix_web::{Clock, Decision, Gate, Mode, Quota, Reason, Tollgate};
use tollgate_conformance::{Caller, HEADER, TOKEN, five};

use crate::support::{built, routes, serve};

/// Of a service that one of two gates knows.
const SECOND: &str = "another-token-of-32-bytes.......";

#[tokio::test]
async fn fields_of_one_value_stay_as_they_were_set_inside() {
    let (inner, clock) = five();
    let inner = built(inner.legacy_fields(true));
    let outer = built(Gate::builder(Quota::per_hour(9)).clock(Clock::Manual(clock)).legacy_fields(true));
    let server = serve(move || {
        let handler =
            || async { HttpResponse::Ok().append_header(("x-ratelimit-limit", "99")).body("hello") };
        App::new()
            .route("/", web::get().to(handler))
            .wrap(Tollgate::new(Arc::clone(&inner)))
            .wrap(Tollgate::new(Arc::clone(&outer)))
    });
    let reply = Caller::from(1, server).get("/").await;
    let names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
    assert_eq!(names.map(|name| reply.lines(name)), [["99"], ["4"], ["60"]]);
}

#[tokio::test]
async fn outer_middleware_learns_who_was_refused_and_why() {
    fn note<B>(mut response: ServiceResponse<B>) -> ServiceResponse<B> {
        let decision = response.response().extensions().get::<Decision>().cloned();
        if let Some(refusal) = decision.and_then(|decision| decision.refusal()) {
            assert_eq!(refusal.reason, Reason::OverLimit);
            let name = HeaderName::from_static("x-noted");
            response.headers_mut().insert(name, HeaderValue::from_static("over limit"));
        }
        response
    }
    let gate = built(five().0);
    let server = serve(move || {
        App::new().configure(routes(&gate)).wrap(Tollgate::new(Arc::clone(&gate))).wrap_fn(
            |request, service| {
                let response = service.call(request);
                async { response.await.map(note) }
            },
        )
    });
    let caller = Caller::from(1, server);
    for _ in 0..5 {
        assert_eq!(caller.get("/").await.lines("x-noted"), [""; 0]);
    }
    assert_eq!(caller.get("/").await.lines("x-noted"), ["over limit"]);
}

#[tokio::test]
async fn a_refusal_inside_is_not_hidden_by_a_shadow_around_it() {
    let (inner, clock) = five();
    let gate = |limit| Gate::builder(Quota::per_hour(limit)).clock(Clock::Manual(clock.clone()));
    let inner = built(inner.policy_name("inner"));
    let shadow = built(gate(1).policy_name("shadow").mode(Mode::Shadow));
    let outer = built(gate(6).policy_name("outer").refund_inner_refusals());
    let server = serve(move || {
        App::new()
            .configure(routes(&inner))
            .wrap(Tollgate::new(Arc::clone(&inner)))
            .wrap(Tollgate::new(Arc::clone(&shadow)))
            .wrap(Tollgate::new(Arc::clone(&outer)))
    });
    let caller = Caller::from(1, server);
    assert_eq!(caller.statuses("/", 5).await, [200; 5]);
    for _ in 0..5 {
        let told = [r#""inner";r=0;t=60"#, r#""shadow";r=0;t=3600"#, r#""outer";r=1;t=3600"#];
        assert_eq!(caller.get("/").await.lines("ratelimit"), told);
    }
}

#[tokio::test]
async fn gates_and_guards_inside_see_what_an_outer_gate_has_stripped() {
    let outer = built(five().0.strip_credential());
    let inner = built(five().0.policy_name("inner").service("orchestrator", SECOND));
    let server = serve(move || {
        App::new()
            .configure(routes(&inner))
            .wrap(Tollgate::new(Arc::clone(&inner)))
            .wrap(Tollgate::new(Arc::clone(&outer)))
    });
    let caller = Caller::from(1, server);
    let own = caller.get_with("/internal", TOKEN).await;
    assert_eq!((own.status, own.lines("ratelimit")), (200, vec![]));
    // A stranger to the outer gate, and a service to the inner one.
    let second = caller.get_with("/internal", SECOND).await;
    assert_eq!((second.status, second.lines("ratelimit")), (200, vec![r#""default";r=4;t=60"#]));
    for lines in [[(HEADER, TOKEN), (HEADER, TOKEN)], [(HEADER, SECOND), (HEADER, "made up")]] {
        assert_eq!(caller.call(Method::GET, "/internal", &lines).await.status, 401);
    }
}
