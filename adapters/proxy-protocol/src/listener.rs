use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;

use axum::serve::Listener;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

use crate::error::HandshakeError;
#[cfg(doc)]
use crate::peer::Peer;
use crate::proxied::Proxied;
use crate::proxy_protocol::ProxyProtocol;

/// A listener whose connections come from the callers that trusted proxies tell by the PROXY protocol.
///
/// Headers are read in tasks, so a proxy that is silent or slow keeps nobody else waiting. A trusted peer that sends
/// no header, or none that can be read before the deadline, is logged and its connection closed. At most 1,024
/// connections wait for their headers, which bounds their memory to 4 MiB. Beyond that the one that waits longest is
/// closed: a proxy sends its header at once, so the oldest is the least likely to come to anything. Untrusted peers
/// never wait.
///
/// Serve with [`Peer`], since axum knows `ConnectInfo<SocketAddr>` of its own listeners only:
/// ```no_run
/// use axum::{Router, routing::get};
/// use tollgate_proxy_protocol::{Peer, ProxyListener, ProxyProtocol};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let app = Router::new().route("/", get(|| async { "hello" }));
/// let proxies = ProxyProtocol::builder().trust_network("10.0.0.0/8").build()?;
/// let listener = tokio::net::TcpListener::bind("0.0.0.0:8080").await?;
/// axum::serve(ProxyListener::new(listener, proxies), app.into_make_service_with_connect_info::<Peer>()).await?;
/// # Ok(())
/// # }
/// ```
/// Where handlers ask for `ConnectInfo<SocketAddr>`, wrap it once more: `.tap_io(|_| {})` of axum's `ListenerExt`
/// makes a listener of axum's own, which `into_make_service_with_connect_info::<SocketAddr>()` takes.
///
/// # Security
/// Whoever connects from a trusted network can be anybody.
pub struct ProxyListener<L: Listener = TcpListener> {
    listener: L,
    proxies: ProxyProtocol,
    handshakes: JoinSet<Handshake<L::Io>>,
    /// The handshakes that may still be under way, from the oldest.
    pending: VecDeque<AbortHandle>,
}

type Handshake<I> = (Result<(Proxied<I>, SocketAddr), HandshakeError>, SocketAddr);

impl<L: Listener<Addr = SocketAddr>> ProxyListener<L> {
    /// Wraps a listener. One other than tokio's has to lose nothing when the future of its `accept` is dropped.
    pub fn new(listener: L, proxies: ProxyProtocol) -> Self {
        Self { listener, proxies, handshakes: JoinSet::new(), pending: VecDeque::new() }
    }

    /// The next connection that was accepted, or the next handshake that ended, those first: what has begun is ended
    /// before more is begun. Dropping the future loses neither.
    async fn next(&mut self) -> Next<L::Io> {
        let mut accept = pin!(self.listener.accept());
        poll_fn(|cx| {
            if let Poll::Ready(Some(ended)) = self.handshakes.poll_join_next(cx) {
                return Poll::Ready(Next::Ended(ended.ok()));
            }
            accept.as_mut().poll(cx).map(|(io, peer)| Next::Accepted(io, peer))
        })
        .await
    }

    fn begin(&mut self, io: L::Io, peer: SocketAddr) {
        if self.pending.len() >= MOST_PENDING {
            self.pending.retain(|handshake| !handshake.is_finished());
        }
        if self.pending.len() >= MOST_PENDING
            && let Some(oldest) = self.pending.pop_front()
        {
            tracing::warn!(
                "{MOST_PENDING} connections from trusted proxies wait for their PROXY headers: closing the oldest. \
                 Check that those proxies have the PROXY protocol turned on."
            );
            oldest.abort();
        }
        let proxies = self.proxies.clone();
        let handshake = self.handshakes.spawn(async move { (proxies.accept(io, peer).await, peer) });
        self.pending.push_back(handshake);
    }
}

enum Next<I> {
    Accepted(I, SocketAddr),
    /// `None` if it was closed for a newer one.
    Ended(Option<Handshake<I>>),
}

/// How many connections may wait for their headers.
const MOST_PENDING: usize = 1024;

impl<L: Listener<Addr = SocketAddr>> Listener for ProxyListener<L> {
    type Io = Proxied<L::Io>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            match self.next().await {
                Next::Accepted(io, peer) if self.proxies.trusts(peer.ip()) => self.begin(io, peer),
                Next::Accepted(io, peer) => return (Proxied::new(io), peer),
                Next::Ended(Some((Ok(connection), _))) => return connection,
                Next::Ended(Some((Err(error), peer))) => tell(&error, peer),
                Next::Ended(None) => {}
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl<L: Listener + fmt::Debug> fmt::Debug for ProxyListener<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyListener")
            .field("listener", &self.listener)
            .field("proxies", &self.proxies)
            .finish_non_exhaustive()
    }
}

#[cold]
fn tell(error: &HandshakeError, peer: SocketAddr) {
    match error {
        // Health checks and broken connections are everyday.
        HandshakeError::Ended { received: 0 } | HandshakeError::Io(_) => {
            tracing::debug!("closed a connection from the trusted proxy {peer}: {error}");
        }
        _ => tracing::warn!("closed a connection from the trusted proxy {peer}: {error}"),
    }
}
