//! Routes for our own services.

use std::sync::Arc;

use actix_web::dev::Service;
use actix_web::{App, web};
use http::Method;
use tollgate_actix_web::{RequireInternal, RequireInternalLayer, Tollgate};
use tollgate_conformance::{Caller, HEADER, TOKEN, five};

use crate::support::{built, serve};

async fn hello(RequireInternal(service): RequireInternal) -> String {
    format!("hello, {service}")
}

#[tokio::test]
async fn the_extractor_needs_no_limiter() {
    let gate = built(five().0);
    let server = serve(move || {
        App::new().app_data(web::Data::from(Arc::clone(&gate))).route("/", web::get().to(hello))
    });
    let caller = Caller::from(1, server);
    assert_eq!(caller.get_with("/", TOKEN).await.body, "hello, edge");
    for _ in 0..20 {
        assert_eq!(caller.get("/").await.status, 401, "a guard alone limits nobody");
    }
    let forged = caller.get_with("/", "made up").await;
    assert_eq!(forged.status, 401);
    assert_eq!(forged.lines("www-authenticate"), [r#"Token realm="internal", header="x-internal-token""#]);
    assert!(forged.body.starts_with(b"This route is for our own services"));
    assert_eq!(caller.call(Method::GET, "/", &[(HEADER, TOKEN), (HEADER, TOKEN)]).await.status, 401);
}

#[tokio::test]
async fn the_extractor_and_the_layer_heed_the_limiter() {
    let gate = built(five().0);
    let server = serve(move || {
        let layer = RequireInternalLayer::new(Arc::clone(&gate));
        App::new()
            .app_data(web::Data::from(Arc::clone(&gate)))
            .route("/", web::get().to(hello))
            .service(web::resource("/layer").wrap(layer).to(async || "ours"))
            // So that there is nothing to compare once more.
            .wrap_fn(|mut request, service| {
                request.headers_mut().remove(HEADER);
                service.call(request)
            })
            .wrap(Tollgate::new(Arc::clone(&gate)))
    });
    let caller = Caller::from(1, server);
    let mut statuses = Vec::new();
    for _ in 0..7 {
        statuses.push(caller.get_with("/", "made up").await.status);
    }
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429]);
    assert_eq!(caller.get_with("/", TOKEN).await.body, "hello, edge");
    assert_eq!(caller.get_with("/layer", TOKEN).await.body, "ours");
    let stranger = Caller::from(2, server);
    assert_eq!(stranger.get_with("/layer", "made up").await.status, 401);
}

#[tokio::test]
async fn the_guard_of_a_scope_needs_no_limiter() {
    let gate = built(five().0.bearer());
    let server = serve(move || {
        let ours = || async { "ours" };
        App::new().service(
            web::scope("/internal")
                .wrap(RequireInternalLayer::new(Arc::clone(&gate)))
                .route("/lookup", web::get().to(ours)),
        )
    });
    let caller = Caller::from(1, server);
    let bearer = format!("bearer {TOKEN}");
    let with = caller.call(Method::GET, "/internal/lookup", &[("authorization", &bearer)]).await;
    assert_eq!((with.status, &*with.body), (200, &b"ours"[..]));
    for path in ["/internal/lookup", "/internal/nowhere"] {
        let plain = caller.get_with(path, TOKEN).await;
        assert_eq!(
            (plain.status, plain.lines("www-authenticate")),
            (401, vec![r#"Bearer realm="internal""#])
        );
    }
}
