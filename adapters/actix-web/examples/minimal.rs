//! Three requests a minute for each address, and a route for our own service alone.
//!
//! ```sh
//! export INTERNAL_TOKEN=$(openssl rand -hex 32) # the same in both shells
//! cargo run -p tollgate-actix-web --example minimal
//! curl -i http://127.0.0.1:8080/internal/domains/example.org   # 401, while the budget lasts
//! curl -i http://127.0.0.1:8080/                               # three times: 429 at last
//! curl -i http://127.0.0.1:8080/internal/domains/example.org -H "x-internal-token: $INTERNAL_TOKEN"
//! ```

use std::error::Error;
use std::sync::Arc;

use actix_web::{App, HttpServer, web};
use tollgate_actix_web::{Decided, Gate, GateError, Quota, RequireInternal, Tollgate};

/// The limiter's settings, all of them.
fn gate(internal_token: &str) -> Result<Gate, GateError> {
    Gate::builder(Quota::per_minute(3)).service("edge", internal_token).build()
}

async fn hello(Decided(decision): Decided) -> String {
    let caller = decision.origin().map(|origin| origin.to_string());
    format!("hello, {}\n", caller.unwrap_or_default())
}

async fn domain(RequireInternal(service): RequireInternal, domain: web::Path<String>) -> String {
    format!("{service} asks for {domain}: app-7\n")
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let token = std::env::var("INTERNAL_TOKEN").map_err(|_| "set INTERNAL_TOKEN to the services' secret")?;
    // Outside of the closure, which runs once for each worker.
    let gate = Arc::new(gate(&token)?);
    let app = move || {
        App::new()
            .app_data(web::Data::from(gate.clone()))
            .route("/", web::get().to(hello))
            .route("/internal/domains/{domain}", web::get().to(domain))
            .wrap(Tollgate::new(gate.clone()))
    };
    HttpServer::new(app).bind("127.0.0.1:8080")?.run().await?;
    Ok(())
}
