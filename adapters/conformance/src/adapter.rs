use std::net::SocketAddr;

use crate::app::App;

/// An adapter, with a server of its framework's own.
pub trait Adapter: Send + Sync + 'static {
    /// What the table calls it: the crate's name without `tollgate-`.
    const NAME: &'static str;

    /// The cases that don't apply. Anything else passes.
    const LACKS: &'static [Lack] = &[];

    /// Serves the application from now on, on a free port of `app.listen`, and returns the server's address. Both
    /// versions of HTTP are spoken there, HTTP/2 without TLS by prior knowledge. The server ends with the process, or
    /// with the runtime that it is called in.
    fn serve(&self, app: App) -> impl Future<Output = SocketAddr> + Send;
}

/// A case that does not apply to an adapter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lack {
    /// The case's name.
    pub case: &'static str,
    /// What the framework can't do, for a footnote.
    pub reason: &'static str,
}
