//! The application behind a real socket, for a load generator on the same machine: `serve axum`, or `serve axum --gate`
//! with ours before it, `--floor` with the least that a layer can be which adds two fields, `--least` with the least that a limiter
//! can be, `--parts` with the parts of ours in one piece; with `axum-around` these are around the router and not its layers. One
//! thread serves. `ci/wrk` starts them.

use std::error::Error;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use actix_web::{App, HttpServer, web};
use axum::ServiceExt;
use axum::extract::Request;
use axum::extract::connect_info::IntoMakeServiceWithConnectInfo;
use benches::apps;
use benches::floor::Floor;
use clap::{Parser, ValueEnum};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tollgate_axum::{Gate, Quota};
use tollgate_hyper::Tollgate;
use tower_layer::Layer;

/// Answers every request with two bytes.
#[derive(Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag, of which one is given")]
struct Arguments {
    /// What serves.
    framework: Framework,
    /// With ours before the application, on its default settings but for the limit.
    #[arg(long)]
    gate: bool,
    /// With a layer before the application that adds two ready fields, and decides nothing.
    #[arg(long, conflicts_with = "gate")]
    floor: bool,
    /// With a layer before the application that decides by the core and does nothing else.
    #[arg(long, conflicts_with_all = ["gate", "floor"])]
    least: bool,
    /// With a layer before the application that does by hand what a gate does.
    #[arg(long, conflicts_with_all = ["gate", "floor", "least"])]
    parts: bool,
    /// Where to listen; port 0 is any that is free, and the first line of output says which.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

#[derive(Clone, Copy, ValueEnum)]
enum Framework {
    Axum,
    /// The same, with what is before the application around its router and not one of the router's layers.
    AxumAround,
    Hyper,
    ActixWeb,
}

/// What is before the application.
enum Before {
    Nothing,
    Floor(Floor),
    Gate(Arc<Gate>),
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    // So much that one address is admitted under load for half a minute, and not so fast that the precise clock is read.
    let quota = Quota::per_minute(4_000_000);
    let before = match arguments {
        Arguments { gate: true, .. } => Before::Gate(Gate::builder(quota).build()?.into()),
        Arguments { floor: true, .. } => Before::Floor(Floor::Passes(2)),
        Arguments { least: true, .. } => Before::Floor(Floor::Decides),
        Arguments { parts: true, .. } => Before::Floor(Floor::Parts),
        _ => Before::Nothing,
    };
    let listener = TcpListener::bind(arguments.listen)?;
    println!("listening on {}", listener.local_addr()?);
    match arguments.framework {
        Framework::ActixWeb => serve_actix_web(listener, before),
        framework => {
            listener.set_nonblocking(true)?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                match framework {
                    Framework::Axum => serve_axum(listener, before).await,
                    Framework::AxumAround => serve_axum_around(listener, before).await,
                    _ => serve_hyper(listener, before).await,
                }
            })
        }
    }
}

async fn serve_axum(listener: tokio::net::TcpListener, before: Before) -> Result<(), Box<dyn Error>> {
    let app = match before {
        Before::Nothing => apps::axum(),
        Before::Floor(floor) => apps::axum().layer(floor),
        Before::Gate(gate) => apps::axum().layer(tollgate_axum::TollgateLayer::new(gate)),
    };
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

async fn serve_axum_around(listener: tokio::net::TcpListener, before: Before) -> Result<(), Box<dyn Error>> {
    match before {
        Before::Nothing => axum::serve(listener, with_peers(apps::axum())).await?,
        Before::Floor(floor) => axum::serve(listener, with_peers(floor.layer(apps::axum()))).await?,
        Before::Gate(gate) => {
            let tollgate = tollgate_axum::TollgateLayer::new(gate);
            axum::serve(listener, with_peers(tollgate.layer(apps::axum()))).await?;
        }
    }
    Ok(())
}

/// A service that is told its requests' peers.
fn with_peers<S: tower_service::Service<Request>>(
    service: S,
) -> IntoMakeServiceWithConnectInfo<S, SocketAddr> {
    service.into_make_service_with_connect_info()
}

async fn serve_hyper(listener: tokio::net::TcpListener, before: Before) -> Result<(), Box<dyn Error>> {
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).pipeline_flush(true);
    loop {
        let (stream, peer) = listener.accept().await?;
        let (io, service) = (TokioIo::new(stream), service_fn(apps::hyper));
        match &before {
            Before::Nothing => drop(tokio::spawn(server.serve_connection(io, service))),
            Before::Floor(floor) => drop(tokio::spawn(server.serve_connection(io, floor.wrap(service)))),
            Before::Gate(gate) => {
                let service = Tollgate::new(Arc::clone(gate)).wrap(service, Some(peer.ip()));
                tokio::spawn(server.serve_connection(io, service));
            }
        }
    }
}

fn serve_actix_web(listener: TcpListener, before: Before) -> Result<(), Box<dyn Error>> {
    // The application's type depends on what is before it, so there are five servers.
    let app = || App::new().route("/", web::get().to(apps::actix_web));
    let served = match before {
        Before::Nothing => HttpServer::new(app).workers(1).listen(listener)?.run(),
        Before::Floor(Floor::Decides) => {
            let served = move || app().wrap_fn(apps::actix_web_least);
            HttpServer::new(served).workers(1).listen(listener)?.run()
        }
        Before::Floor(Floor::Parts) => {
            let served = move || app().wrap_fn(apps::actix_web_parts);
            HttpServer::new(served).workers(1).listen(listener)?.run()
        }
        Before::Floor(_) => {
            let served = move || app().wrap_fn(apps::actix_web_ready::<2, _, _>);
            HttpServer::new(served).workers(1).listen(listener)?.run()
        }
        Before::Gate(gate) => {
            let tollgate = tollgate_actix_web::Tollgate::new(gate);
            HttpServer::new(move || app().wrap(tollgate.clone())).workers(1).listen(listener)?.run()
        }
    };
    actix_web::rt::System::new().block_on(served)?;
    Ok(())
}
