use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::api::Api;
use crate::exposition::Exposition;
use crate::gate::gate;
use crate::options::Options;
use crate::token::Token;
use crate::{Error, on, say};

/// How long requests that are under way may take after the server was told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Serves the API until the process is told to stop.
pub(crate) async fn serve(address: SocketAddr, options: &Options, token: &Token) -> Result<ExitCode, Error> {
    let exposition = Exposition::install()?;
    let gate = gate(options, Some(token))?;
    let listener = TcpListener::bind(address).await.map_err(|error| Error::Listen(address, error))?;
    let bound = listener.local_addr().map_err(|error| Error::Listen(address, error))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::Signal)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::Signal)?;
    say(format_args!("listening on http://{bound}"))?;

    let (stop, stopped) = oneshot::channel::<()>();
    let api = Api::new(Arc::clone(&gate), gate).with(exposition);
    let serving = on::serve(options.framework(), listener, api, async {
        let _ = stopped.await;
    });
    let until_told = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        let _ = stop.send(());
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = serving => served.map_err(Error::Server)?,
        () = until_told => {}
    }
    Ok(ExitCode::SUCCESS)
}
