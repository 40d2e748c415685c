use std::error::Error;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use redis::Client;

/// A server of this program's own; it ends with it.
pub(crate) struct OwnServer {
    process: Child,
    port: u16,
}

impl OwnServer {
    /// Starts `redis-server` at a free port.
    pub(crate) fn start() -> Result<Self, Box<dyn Error>> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port.to_string()])
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("redis-server can't be started ({error}): install it"))?;
        let server = Self { process, port };
        while Client::open(server.address())?.get_connection().is_err() {
            std::thread::yield_now();
        }
        Ok(server)
    }

    pub(crate) fn address(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
