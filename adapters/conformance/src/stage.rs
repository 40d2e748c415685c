use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use tollgate_http::{Clock, Gate, GateBuilder, ManualClock, Quota};

use crate::app::{App, TOKEN};
use crate::http1::Connection;
use crate::http2::Http2;
use crate::reply::Reply;
use crate::request::Request;

/// Where one case plays: an adapter that serves, a clock, and a network of addresses that no other case calls from.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) serve: Arc<dyn Fn(App) -> Serving + Send + Sync>,
    pub(crate) clock: ManualClock,
    pub(crate) network: u8,
}

/// A server that is about to have an address.
pub(crate) type Serving = Pin<Box<dyn Future<Output = SocketAddr> + Send>>;

/// A server of this case's.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) app: App,
    address: SocketAddr,
    network: u8,
}

/// Somebody who calls a server from an address of its own.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) address: Ipv4Addr,
    server: SocketAddr,
}

impl Stage {
    /// A gate with this quota and the case's clock, which knows the service `edge`.
    pub(crate) fn gate(&self, quota: Quota) -> GateBuilder {
        Gate::builder(quota).service("edge", TOKEN).clock(Clock::Manual(self.clock.clone()))
    }

    /// A gate with a limit of five a minute.
    pub(crate) fn five(&self) -> GateBuilder {
        self.gate(Quota::per_minute(5))
    }

    pub(crate) async fn serve(&self, app: impl Into<App>) -> Server {
        let app = app.into();
        let address = (self.serve)(app.clone()).await;
        Server { app, address, network: self.network }
    }

    /// Serves behind a gate of five a minute.
    pub(crate) async fn serve_five(&self) -> Server {
        self.serve(self.five()).await
    }

    /// Moves the clock.
    pub(crate) fn pass(&self, seconds: f64) {
        self.clock.advance(std::time::Duration::from_secs_f64(seconds));
    }
}

impl Server {
    pub(crate) fn caller(&self, host: u8) -> Caller {
        self.caller_from(Ipv4Addr::new(127, self.network, 0, host))
    }

    pub(crate) fn caller_from(&self, address: Ipv4Addr) -> Caller {
        Caller { address, server: self.address }
    }
}

impl Caller {
    pub(crate) async fn connect(&self) -> Connection {
        Connection::open(self.address, self.server).await
    }

    pub(crate) async fn http2(&self) -> Http2 {
        Http2::open(self.address, self.server).await
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn send(&self, request: &Request) -> Reply {
        self.connect().await.send(request).await
    }

    pub(crate) async fn get(&self, target: &str) -> Reply {
        self.send(&Request::get(target)).await
    }

    /// The statuses of the same request so many times, on one connection.
    pub(crate) async fn repeat(&self, request: &Request, times: usize) -> Vec<u16> {
        let mut connection = self.connect().await;
        let mut statuses = Vec::new();
        for _ in 0..times {
            statuses.push(connection.send(request).await.status);
        }
        statuses
    }

    pub(crate) async fn statuses(&self, target: &str, times: usize) -> Vec<u16> {
        self.repeat(&Request::get(target), times).await
    }

    /// How many more ordinary requests are admitted.
    pub(crate) async fn left(&self) -> usize {
        let mut connection = self.connect().await;
        let mut admitted = 0;
        while connection.send(&Request::get("/")).await.status == 200 {
            admitted += 1;
        }
        admitted
    }
}
