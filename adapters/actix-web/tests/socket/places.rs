//! Around an application, a scope or a resource, and what the terms can know there.

use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::{Next, NormalizePath, from_fn};
use actix_web::{App, Error, HttpMessage, guard, web};
use http::Method;
use tollgate_actix_web::{Head, Quota, Terms, Tollgate};
use tollgate_conformance::{Caller, five};

use crate::support::{built, serve};

/// A budget for each route, and dearer exports.
fn by_route<'g>(head: &Head<'_>, terms: Terms<'g>) -> Terms<'g> {
    match head.matched_path().as_deref() {
        Some("/health") => terms.skip(),
        Some(route @ "/v1/export/{id}") => terms.scope(route).cost(2),
        Some(route) => terms.scope(route),
        None => terms.scope("none"),
    }
}

fn api(config: &mut web::ServiceConfig) {
    let hello = || web::to(|| async { "hello" });
    config.route("/health", hello()).route("/users/{id}", hello()).service(
        web::scope("/v1").route("", hello()).route("/export/{id}", hello()).route("/{any}/{id}", hello()),
    );
}

/// All spellings of a path that actix-web takes for one.
const EXPORTS: [&str; 5] =
    ["/v1/export/1", "/v1/export/2?x=1", "/v1/%65xport/3", "/%76%31/%65%78%70%6f%72%74/4", "/v1/export/%2F"];

async fn remaining(caller: &Caller, path: &str) -> (u16, String) {
    let reply = caller.get(path).await;
    (reply.status, reply.lines("ratelimit").join(", "))
}

// Abuse 18: whatever the spelling, the budget and the cost are the route's.
#[tokio::test]
async fn around_an_application_budgets_are_those_of_resources_however_paths_are_spelled() {
    let gate = built(five().0);
    let server =
        serve(move || App::new().configure(api).wrap(Tollgate::new(Arc::clone(&gate)).terms(by_route)));
    for (host, path) in EXPORTS.iter().enumerate() {
        let caller = Caller::from(u8::try_from(host).unwrap() + 1, server);
        assert_eq!(remaining(&caller, path).await, (200, r#""default";r=3;t=60"#.into()), "{path}");
        assert_eq!(remaining(&caller, EXPORTS[0]).await, (200, r#""default";r=1;t=60"#.into()), "{path}");
        assert_eq!(caller.statuses(path, 1).await, [429], "{path}");
    }
    let caller = Caller::from(100, server);
    for (path, status, left) in [
        ("/users/1", 200, 4),
        ("/%75sers/2", 200, 3),
        ("/users/x%79z", 200, 2),
        ("/v1", 200, 4),
        ("/%76%31", 200, 3),
        ("/v1/other/1", 200, 4),
        ("/users/1/", 404, 4),
        ("/nowhere", 404, 3),
        ("//users/1", 404, 2),
    ] {
        assert_eq!(remaining(&caller, path).await, (status, format!("\"default\";r={left};t=60")), "{path}");
    }
    assert_eq!(remaining(&caller, "/%68ealth").await, (200, String::new()));
}

#[tokio::test]
async fn paths_are_normalised_outside() {
    let gate = built(five().0);
    let server = serve(move || {
        App::new()
            .configure(api)
            .wrap(Tollgate::new(Arc::clone(&gate)).terms(by_route))
            .wrap(NormalizePath::trim())
    });
    let caller = Caller::from(1, server);
    for (path, left) in [("//users///1/", 4), ("/users/2", 3), ("/users/3/", 2), ("/%75sers//4", 1)] {
        assert_eq!(remaining(&caller, path).await, (200, format!("\"default\";r={left};t=60")), "{path}");
    }
}

#[tokio::test]
async fn around_a_scope_it_is_the_whole_pattern_and_others_are_not_limited() {
    let gate = built(five().0);
    let server = serve(move || {
        let hello = || web::to(|| async { "hello" });
        let scope = web::scope("/v1")
            .wrap(Tollgate::new(Arc::clone(&gate)).terms(by_route))
            .route("", hello())
            .route("/export/{id}", hello());
        App::new().service(scope).route("/free", hello())
    });
    for (host, path) in EXPORTS.iter().enumerate() {
        let caller = Caller::from(u8::try_from(host).unwrap() + 1, server);
        assert_eq!(remaining(&caller, path).await, (200, r#""default";r=3;t=60"#.into()), "{path}");
        assert_eq!(remaining(&caller, "/%761").await, (200, r#""default";r=4;t=60"#.into()));
        assert_eq!(remaining(&caller, "/v1").await, (200, r#""default";r=3;t=60"#.into()));
        assert_eq!(remaining(&caller, "/v1/lost").await, (404, r#""default";r=4;t=60"#.into()));
        assert_eq!(remaining(&caller, "/free").await, (200, String::new()));
    }
}

#[tokio::test]
async fn around_a_resource_it_is_the_one_that_guards_have_chosen() {
    let gate = built(five().0);
    let server = serve(move || {
        let tollgate = Tollgate::new(Arc::clone(&gate)).terms(|head, terms| {
            assert_eq!(head.method.as_str() == "POST", head.matched_path().as_deref() == Some("/{any}"));
            by_route(head, terms)
        });
        let resource = |path| web::resource(path).wrap(tollgate.clone());
        App::new()
            .service(resource("/users").guard(guard::Get()).to(|| async { "got" }))
            .service(resource("/{any}").to(|| async { "any" }))
    });
    let caller = Caller::from(1, server);
    for path in ["/users", "/%75sers", "/users", "/use%72s", "/users"] {
        assert_eq!(caller.get(path).await.body, "got");
        assert_eq!(caller.call(Method::POST, path, &[]).await.body, "any");
    }
    assert_eq!(caller.statuses("/users", 1).await, [429]);
    assert_eq!(caller.call(Method::POST, "/users", &[]).await.status, 429);
}

/// Whom authentication has found.
struct User(String);

async fn authenticate(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let user = request.headers().get("x-user").and_then(|user| user.to_str().ok()).map(str::to_owned);
    if let Some(user) = user {
        request.extensions_mut().insert(User(user));
    }
    next.call(request).await
}

#[tokio::test]
async fn callers_may_be_users_with_quotas_of_their_class() {
    let gate = built(five().0.class("paid", Quota::per_minute(9)));
    let server = serve(move || {
        let tollgate = Tollgate::new(Arc::clone(&gate)).terms(|head, terms| match head.extensions.get() {
            Some(User(name)) if name == "rich" => terms.caller(name).class("paid"),
            Some(User(name)) => terms.caller(name),
            None => terms,
        });
        App::new().route("/", web::get().to(|| async { "hello" })).wrap(tollgate).wrap(from_fn(authenticate))
    });
    // Two addresses of one user share its budget.
    for (user, limit) in [("rich", 9), ("poor", 5)] {
        let mut passed = 0;
        for request in 0..20 {
            let caller = Caller::from(1 + request % 2, server);
            let reply = caller.call(Method::GET, "/", &[("x-user", user)]).await;
            passed += usize::from(reply.status == 200);
        }
        assert_eq!(passed, limit, "{user}");
    }
    assert_eq!(Caller::from(1, server).statuses("/", 6).await, [200, 200, 200, 200, 200, 429]);
}
