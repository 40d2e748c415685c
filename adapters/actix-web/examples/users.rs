//! Users with a quota of their own, exports that cost ten, and health checks that cost nothing.
//!
//! ```sh
//! cargo run -p tollgate-actix-web --example users
//! curl -i http://127.0.0.1:8080/export/1                               # 20 a minute, of which this costs 10
//! curl -i http://127.0.0.1:8080/export/1 -H 'authorization: Bearer ann'  # Ann pays: 100 a minute
//! curl -i http://127.0.0.1:8080/health
//! ```

use std::error::Error;
use std::sync::Arc;

use actix_web::dev::{Service, ServiceRequest};
use actix_web::{App, HttpMessage, HttpServer, web};
use tollgate_actix_web::{Gate, Head, Quota, Terms, Tollgate};

/// Whom authentication has found.
struct User(&'static str);

/// Stands for a real one: a token is checked, and only then it names a user.
fn authenticate(request: &ServiceRequest) {
    let token = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    if token == Some("Bearer ann") {
        request.extensions_mut().insert(User("ann"));
    }
}

fn terms<'g>(head: &Head<'_>, terms: Terms<'g>) -> Terms<'g> {
    let terms = match head.extensions.get::<User>() {
        Some(User(name)) => terms.caller(name).class("paid"),
        None => terms, // by address
    };
    match head.matched_path().as_deref() {
        Some("/health") => terms.skip(),
        Some("/export/{id}") => terms.cost(10),
        _ => terms,
    }
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let gate = Gate::builder(Quota::per_minute(20)).class("paid", Quota::per_minute(100)).build()?;
    let tollgate = Tollgate::new(Arc::new(gate)).terms(terms);
    let app = move || {
        let export = async |id: web::Path<u32>| format!("export {id}\n");
        App::new()
            .route("/health", web::get().to(|| async { "well\n" }))
            .route("/export/{id}", web::get().to(export))
            .wrap(tollgate.clone())
            // Wrapped last, so it comes first.
            .wrap_fn(|request, service| {
                authenticate(&request);
                service.call(request)
            })
    };
    HttpServer::new(app).bind("127.0.0.1:8080")?.run().await?;
    Ok(())
}
