use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A proxy before a server that can hold back everything that goes either way, or all of older connections for good.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    held: watch::Sender<bool>,
    /// Connections before this number are lost.
    lost: watch::Sender<u64>,
    pub(crate) connections: Arc<AtomicU64>,
}

impl Proxy {
    pub(crate) async fn before(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let (held, watched) = watch::channel(false);
        let (lost, losses) = watch::channel(0);
        let connections = Arc::new(AtomicU64::new(0));
        let counted = connections.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = counted.fetch_add(1, Ordering::Relaxed);
                let mut losses = losses.clone();
                let watched = watched.clone();
                tokio::spawn(async move {
                    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                    let (mut from_client, mut to_client) = client.into_split();
                    let (mut from_server, mut to_server) = server.into_split();
                    let (there, back) = (watched.clone(), watched);
                    let is_lost = tokio::select! {
                        () = pass(&mut from_client, &mut to_server, there) => false,
                        () = pass(&mut from_server, &mut to_client, back) => false,
                        lost = losses.wait_for(|&lost| lost > number) => lost.is_ok(),
                    };
                    if is_lost {
                        // Neither side hears of it.
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        Self { port: own, held, lost, connections }
    }

    pub(crate) fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    pub(crate) fn lose(&self) {
        self.lost.send_replace(self.connections.load(Ordering::Relaxed));
    }
}

async fn pass(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    mut held: watch::Receiver<bool>,
) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if held.wait_for(|&held| !held).await.is_err() || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
