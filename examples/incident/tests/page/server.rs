use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use axum::http::Method;
use tokio::runtime::Runtime;
use tollgate_conformance::Caller;

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server that ends with its test.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    runtime: Runtime,
}

impl Server {
    pub(crate) fn start(flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_incident"))
            .args(["--serve", "127.0.0.1:0"])
            .args(flags)
            .env("INTERNAL_TOKEN", TOKEN)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap().parse().unwrap();
        Self { child, address, runtime: Runtime::new().unwrap() }
    }

    /// The status and the body of what 127.1.0.`host` is answered.
    pub(crate) fn call(&self, host: u8, path: &str, fields: &[(&str, &str)]) -> (u16, String) {
        self.send(host, Method::GET, path, fields)
    }

    fn send(&self, host: u8, method: Method, path: &str, fields: &[(&str, &str)]) -> (u16, String) {
        let received = self.runtime.block_on(Caller::from(host, self.address).call(method, path, fields));
        (received.status, String::from_utf8(received.body.into()).unwrap())
    }

    /// Sixty requests of each: the edge with a token that was rotated, the orchestrator without one, a scraper, a forger and
    /// an office; and sixteen of somebody who keeps to a limit of twenty.
    pub(crate) fn play_the_incident(&self) {
        for request in 0..60 {
            let rotated = [("x-internal-token", "the token before it was rotated")];
            self.call(1, "/internal/domains/app-7.example", &rotated);
            self.send(2, Method::PUT, "/internal/turns/turn-7", &[]);
            self.call(3, "/", &[("user-agent", "scrape/1.0")]);
            self.call(
                4,
                "/internal/previews/preview-7/access",
                &[("x-internal-token", &format!("guess {request}"))],
            );
            self.call(5, "/", &[("user-agent", &format!("browser {}", request % 30))]);
            if request < 16 {
                self.call(6, "/", &[]);
            }
        }
    }

    pub(crate) fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
