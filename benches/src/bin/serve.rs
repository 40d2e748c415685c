//! The application behind a real socket, for a load generator on the same machine: `serve axum`, or `serve axum --gate`
//! with ours before it. One thread serves. `ci/wrk` starts them.

use std::error::Error;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use actix_web::{App, HttpServer, web};
use benches::apps;
use clap::{Parser, ValueEnum};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tollgate_axum::{Gate, Quota};

/// Answers every request with two bytes.
#[derive(Parser)]
struct Arguments {
    /// What serves.
    framework: Framework,
    /// With ours before the application, on its default settings but for the limit.
    #[arg(long)]
    gate: bool,
    /// Where to listen; port 0 is any that is free, and the first line of output says which.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

#[derive(Clone, Copy, ValueEnum)]
enum Framework {
    Axum,
    Hyper,
    ActixWeb,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    // So much that one address is admitted all the time.
    let quota = Quota::new(4_000_000, tollgate_axum::Nanos::from_secs(10));
    let gate = arguments.gate.then(|| Gate::builder(quota).build().map(Arc::new)).transpose()?;
    let listener = TcpListener::bind(arguments.listen)?;
    println!("listening on {}", listener.local_addr()?);
    match arguments.framework {
        Framework::ActixWeb => serve_actix_web(listener, gate),
        framework => {
            listener.set_nonblocking(true)?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                match framework {
                    Framework::Axum => serve_axum(listener, gate).await,
                    _ => serve_hyper(listener, gate).await,
                }
            })
        }
    }
}

async fn serve_axum(
    listener: tokio::net::TcpListener,
    gate: Option<Arc<Gate>>,
) -> Result<(), Box<dyn Error>> {
    let app = match gate {
        Some(gate) => apps::axum().layer(tollgate_axum::TollgateLayer::new(gate)),
        None => apps::axum(),
    };
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

async fn serve_hyper(
    listener: tokio::net::TcpListener,
    gate: Option<Arc<Gate>>,
) -> Result<(), Box<dyn Error>> {
    let tollgate = gate.map(tollgate_hyper::Tollgate::new);
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).pipeline_flush(true);
    loop {
        let (stream, peer) = listener.accept().await?;
        let (io, service) = (TokioIo::new(stream), service_fn(apps::hyper));
        match &tollgate {
            Some(tollgate) => {
                tokio::spawn(server.serve_connection(io, tollgate.wrap(service, Some(peer.ip()))));
            }
            None => {
                tokio::spawn(server.serve_connection(io, service));
            }
        }
    }
}

fn serve_actix_web(listener: TcpListener, gate: Option<Arc<Gate>>) -> Result<(), Box<dyn Error>> {
    // Without a gate there is no middleware: actix-web's types differ then, so there are two servers.
    let served = match gate {
        Some(gate) => {
            let app = move || {
                App::new()
                    .wrap(tollgate_actix_web::Tollgate::new(gate.clone()))
                    .route("/", web::get().to(apps::actix_web))
            };
            HttpServer::new(app).workers(1).listen(listener)?.run()
        }
        None => HttpServer::new(|| App::new().route("/", web::get().to(apps::actix_web)))
            .workers(1)
            .listen(listener)?
            .run(),
    };
    actix_web::rt::System::new().block_on(served)?;
    Ok(())
}
