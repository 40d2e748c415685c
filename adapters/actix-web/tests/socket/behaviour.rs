//! What callers and handlers see.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{App, HttpRequest, HttpResponse, web};
use http::Method;
use tokio::task::JoinSet;
use tollgate_actix_web::{
    Answer, Clock, Decided, Decision, Gate, Identity, Mode, Quota, Reason, Tollgate, Verdict,
};

use crate::support::{Caller, HEADER, Reply, TOKEN, WORKERS, api, built, five, routes, serve};

fn told(reply: &Reply) -> [Vec<&str>; 4] {
    ["ratelimit-policy", "ratelimit", "retry-after", "cache-control"].map(|name| reply.lines(name))
}

#[tokio::test]
async fn responses_say_where_a_caller_stands() {
    let (gate, clock) = five();
    let caller = Caller::from(1, api(&built(gate)));
    let policy = vec![r#""default";q=5;w=60"#];
    let admitted = caller.get("/").await;
    assert_eq!(admitted.body, "hello");
    assert_eq!(told(&admitted), [policy.clone(), vec![r#""default";r=4;t=60"#], vec![], vec![]]);
    // Also when nobody finds the route.
    let lost = caller.get("/nowhere").await;
    assert_eq!(lost.status, 404);
    assert_eq!(told(&lost), [policy.clone(), vec![r#""default";r=3;t=60"#], vec![], vec![]]);
    caller.statuses("/", 3).await;
    clock.advance(Duration::from_millis(17_500));

    let refused = caller.get("/").await;
    assert_eq!(refused.status, 429);
    assert_eq!(told(&refused), [policy, vec![r#""default";r=0;t=43"#], vec!["43"], vec!["no-store"]]);
    assert_eq!(refused.lines("content-type"), ["application/problem+json"]);
    let body: serde_json::Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!(body["violated-policies"], serde_json::json!(["default"]));

    let exempt = caller.get_with("/", TOKEN).await;
    assert!(told(&exempt).iter().all(Vec::is_empty));
}

#[tokio::test]
async fn head_is_counted_and_has_no_body() {
    let caller = Caller::from(1, api(&built(five().0)));
    for remaining in (0..5).rev() {
        let reply = caller.call(Method::HEAD, "/", &[]).await;
        assert_eq!((reply.status, reply.body.len()), (200, 0));
        assert_eq!(reply.lines("ratelimit"), [format!("\"default\";r={remaining};t=60")]);
    }
    let refused = caller.call(Method::HEAD, "/", &[]).await;
    assert_eq!((refused.status, refused.body.len()), (429, 0));
    assert_eq!(refused.lines("retry-after"), ["60"]);
    // The connection is still in step.
    assert_eq!(caller.get("/").await.status, 429);
}

// Abuse 7: two credential lines are never exempt.
#[tokio::test]
async fn two_credential_lines_are_never_exempt() {
    let caller = Caller::from(1, api(&built(five().0)));
    for second in [TOKEN, "made up", ""] {
        for lines in [[(HEADER, TOKEN), (HEADER, second)], [(HEADER, second), (HEADER, TOKEN)]] {
            let reply = caller.call(Method::GET, "/internal", &lines).await;
            assert!(matches!(reply.status, 401 | 429), "{}", reply.status);
        }
    }
    assert_eq!(caller.statuses("/", 1).await, [429], "they were counted");
}

// Abuse 8: only the exact field name counts, in any case.
#[tokio::test]
async fn aliases_of_the_header_are_no_credential() {
    let caller = Caller::from(1, api(&built(five().0)));
    for name in ["x_internal_token", "x.internal.token", "x-internal-token-", "internal-token"] {
        assert_eq!(caller.call(Method::GET, "/internal", &[(name, TOKEN)]).await.status, 401, "{name}");
    }
    assert_eq!(caller.call(Method::GET, "/internal", &[("X-INTERNAL-TOKEN", TOKEN)]).await.status, 200);
}

// actix-web's own idea of the caller's address is whatever the client writes.
#[tokio::test]
async fn no_header_changes_who_calls() {
    let caller = Caller::from(1, api(&built(five().0)));
    let mut statuses = Vec::new();
    for host in 1..=7 {
        let claim = format!("203.0.113.{host}");
        let forwarded = format!("for={claim}");
        let lines = [("x-forwarded-for", &*claim), ("forwarded", &*forwarded), ("x-real-ip", &*claim)];
        statuses.push(caller.call(Method::GET, "/", &lines).await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
}

// Abuse 15 and 33: check, then consume; connections and workers share one budget.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_exactly_the_limit_passes_whatever_the_worker() {
    const LIMIT: usize = 100;
    let gate = built(Gate::builder(Quota::per_hour(100)));
    let workers = Arc::new(Mutex::new(HashSet::new()));
    let seen = Arc::clone(&workers);
    let server = serve(move || {
        let seen = Arc::clone(&seen);
        let handler = move || {
            seen.lock().unwrap().insert(thread::current().id());
            async { "hello" }
        };
        App::new().route("/", web::get().to(handler)).wrap(Tollgate::new(Arc::clone(&gate)))
    });
    for host in 1..=3 {
        let mut callers = JoinSet::new();
        for _ in 0..64 {
            // 64 connections from one address.
            callers.spawn(async move { Caller::from(host, server).statuses("/", 4).await });
        }
        let statuses = callers.join_all().await.concat();
        assert_eq!(statuses.len(), 256);
        assert_eq!(statuses.iter().filter(|&&status| status == 200).count(), LIMIT);
        assert_eq!(statuses.iter().filter(|&&status| status == 429).count(), 256 - LIMIT);
    }
    assert_eq!(workers.lock().unwrap().len(), WORKERS, "all workers answered");
}

// Abuse 33: clones, middleware and servers share one budget; dropping one changes nothing.
#[tokio::test]
async fn whoever_holds_the_gate_shares_its_budgets() {
    let gate = built(five().0);
    let tollgate = Tollgate::new(Arc::clone(&gate));
    let one = serve(move || {
        let resource = |path| web::resource(path).wrap(tollgate.clone()).to(|| async { "hello" });
        App::new().service(resource("/a")).service(resource("/b"))
    });
    let other = api(&gate);
    drop(Tollgate::new(gate));
    let mut statuses = Vec::new();
    for (server, path) in [(one, "/a"), (one, "/b"), (other, "/"), (one, "/a"), (other, "/")] {
        // A new connection each time.
        statuses.extend(Caller::from(1, server).statuses(path, 1).await);
    }
    assert_eq!(statuses, [200; 5]);
    assert_eq!(Caller::from(1, one).statuses("/b", 1).await, [429]);
    assert_eq!(Caller::from(1, other).statuses("/", 1).await, [429]);
}

#[tokio::test]
async fn nested_limiters_add_their_fields_in_order_and_overwrite_nothing() {
    let (inner, clock) = five();
    let inner = built(inner.policy_name("inner"));
    let outer = built(Gate::builder(Quota::per_hour(3)).policy_name("outer").clock(Clock::Manual(clock)));
    let server = serve(move || {
        let handler = || async {
            HttpResponse::Ok()
                .append_header(("ratelimit-policy", r#""own";q=1"#))
                .append_header(("cache-control", "max-age=60"))
                .append_header(("retry-after", "7"))
                .body("hello")
        };
        App::new()
            .route("/", web::get().to(handler))
            .wrap(Tollgate::new(Arc::clone(&inner)))
            .wrap(Tollgate::new(Arc::clone(&outer)))
    });
    let caller = Caller::from(1, server);
    let reply = caller.get("/").await;
    let policies = [r#""own";q=1"#, r#""inner";q=5;w=60"#, r#""outer";q=3;w=3600"#];
    assert_eq!(reply.lines("ratelimit-policy"), policies);
    assert_eq!(reply.lines("ratelimit"), [r#""inner";r=4;t=60"#, r#""outer";r=2;t=3600"#]);
    assert_eq!(reply.lines("cache-control"), ["max-age=60"]);
    assert_eq!(reply.lines("retry-after"), ["7"]);
    caller.statuses("/", 2).await;
    let refused = caller.get("/").await;
    assert_eq!(refused.lines("ratelimit-policy"), [r#""outer";q=3;w=3600"#]);
}

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
async fn an_outer_limiter_gives_back_what_an_inner_one_refuses_if_it_is_told_to() {
    for refunds in [true, false] {
        let (inner, clock) = five();
        let inner = built(inner.policy_name("inner"));
        let outer = Gate::builder(Quota::per_hour(7)).policy_name("outer").clock(Clock::Manual(clock));
        let outer = built(if refunds { outer.refund_inner_refusals() } else { outer });
        let server = serve(move || {
            App::new()
                .service(web::scope("/in").wrap(Tollgate::new(Arc::clone(&inner))))
                .wrap(Tollgate::new(Arc::clone(&outer)))
        });
        let caller = Caller::from(1, server);
        assert_eq!(caller.statuses("/in", 5).await, [404; 5]);
        let refused = caller.get("/in").await;
        let told = format!("\"outer\";r={};t=3600", if refunds { 2 } else { 1 });
        assert_eq!(refused.lines("ratelimit"), [r#""inner";r=0;t=60"#, &told]);
        caller.statuses("/in", 10).await;
        let expected = if refunds { [404, 404, 429] } else { [429; 3] };
        assert_eq!(caller.statuses("/out", 3).await, expected);
    }
}

#[tokio::test]
async fn handlers_are_told_who_calls() {
    async fn tell(Decided(decision): Decided) -> String {
        let origin = decision.origin().unwrap();
        let remaining = match decision.verdict() {
            Some(Verdict::Admitted(standing)) => Some(standing.remaining),
            _ => None,
        };
        let forged = *decision.identity() == Identity::Forged;
        format!("{:?} {forged} {} {origin} {remaining:?}", decision.identity().service(), origin.address())
    }
    let gate = built(five().0);
    let server =
        serve(move || App::new().route("/", web::get().to(tell)).wrap(Tollgate::new(Arc::clone(&gate))));
    let caller = Caller::from(9, server);
    let cases = [
        (vec![], "None false 127.1.0.9 127.1.0.9/32 Some(4)"),
        (vec![(HEADER, "made up")], "None true 127.1.0.9 127.1.0.9/32 Some(3)"),
        (vec![(HEADER, TOKEN)], r#"Some("edge") false 127.1.0.9 127.1.0.9/32 None"#),
    ];
    for (fields, expected) in cases {
        assert_eq!(caller.call(Method::GET, "/", &fields).await.body, expected);
    }
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
async fn a_mode_holds_from_the_next_request_on() {
    let gate = built(five().0);
    let caller = Caller::from(1, api(&gate));
    assert_eq!(caller.statuses("/", 6).await, [200, 200, 200, 200, 200, 429]);
    for (mode, told) in [(Mode::Shadow, vec![r#""default";r=0;t=60"#]), (Mode::Off, vec![])] {
        gate.set_mode(mode);
        assert_eq!(caller.statuses("/", 19).await, [200; 19]);
        let reply = caller.get("/").await;
        assert_eq!((reply.status, reply.lines("ratelimit")), (200, told));
        assert_eq!(reply.lines("retry-after"), [""; 0]);
        assert_eq!(caller.get_with("/internal", "made up").await.status, 401);
    }
    gate.set_mode(Mode::Enforce);
    assert_eq!(caller.statuses("/", 2).await, [429, 429]);
    gate.set_quota("default", Quota::per_minute(7)).unwrap();
    assert_eq!(caller.statuses("/", 3).await, [200, 200, 429]);
}

#[tokio::test]
async fn a_responder_answers_in_the_gates_place() {
    let respond = |answer: Answer, _: &_| {
        answer
            .with_status(503)
            .with_body("text/html", "<h1>Slow down</h1>")
            .with_field("x-help", "/limits")
            .with_field("x-unsendable", "a\nb")
    };
    let caller = Caller::from(1, api(&built(five().0.responder(respond).legacy_fields(true))));
    caller.statuses("/", 5).await;
    let refused = caller.get("/").await;
    assert_eq!((refused.status, &*refused.body), (503, &b"<h1>Slow down</h1>"[..]));
    assert_eq!([refused.lines("content-type"), refused.lines("x-help")], [["text/html"], ["/limits"]]);
    assert_eq!([refused.lines("retry-after"), refused.lines("x-ratelimit-remaining")], [["60"], ["0"]]);
    assert_eq!(refused.lines("x-unsendable"), [""; 0]);
}

#[tokio::test]
async fn clients_of_grpc_get_a_status_of_theirs() {
    let caller = Caller::from(1, api(&built(five().0)));
    caller.statuses("/", 5).await;
    let refused = caller.call(Method::POST, "/", &[("content-type", "application/grpc+proto")]).await;
    assert_eq!((refused.status, refused.lines("grpc-status")), (200, vec!["8"]));
    assert_eq!(refused.lines("content-type"), ["application/grpc"]);
    assert_eq!(refused.lines("grpc-retry-pushback-ms"), ["59996"]);
    assert!(refused.body.is_empty());
}

#[tokio::test]
async fn handlers_do_not_see_a_credential_that_is_stripped() {
    async fn tell(request: HttpRequest, decided: Decided) -> String {
        let name = decided.0.identity().service().unwrap_or_default().to_owned();
        format!("{name} {}", request.headers().contains_key(HEADER))
    }
    for (strips, expected) in [(true, ["edge false", " false"]), (false, ["edge true", " true"])] {
        let gate = five().0;
        let gate = built(if strips { gate.strip_credential() } else { gate });
        let server = serve(move || {
            App::new()
                .route("/tell", web::get().to(tell))
                .configure(routes(&gate))
                .wrap(Tollgate::new(Arc::clone(&gate)))
        });
        let caller = Caller::from(1, server);
        assert_eq!(caller.get_with("/tell", TOKEN).await.body, expected[0]);
        assert_eq!(caller.get_with("/tell", "made up").await.body, expected[1]);
        assert_eq!(caller.get_with("/internal", TOKEN).await.status, 200, "the guard goes by the decision");
        assert_eq!(caller.get_with("/internal", "made up").await.status, 401);
    }
}

/// Of a service that one of two gates knows.
const SECOND: &str = "another-token-of-32-bytes.......";

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
