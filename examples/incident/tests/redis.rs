//! The third act: three nodes with one budget, in a server of this test's own.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Generous: only a test that fails waits so long.
const DEADLINE: Duration = Duration::from_mins(1);

/// It ends with the test.
struct Redis {
    process: Child,
    port: u16,
}

impl Redis {
    /// Starts one, or says loudly that the test is skipped.
    fn start() -> Option<Self> {
        if Command::new("redis-server").arg("--version").stdout(Stdio::null()).status().is_err() {
            assert!(std::env::var_os("CI").is_none(), "redis-server is missing, and CI is set: install it");
            eprintln!("SKIPPED: there is no redis-server on this machine; install it to run this test");
            return None;
        }
        // A free port may be taken before the server is.
        (0..10).find_map(|_| {
            let port = free_port();
            let process = Command::new("redis-server")
                .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let mut redis = Self { process, port };
            redis.is_up().then_some(redis)
        })
    }

    fn is_up(&mut self) -> bool {
        let began = Instant::now();
        while began.elapsed() < DEADLINE && self.process.try_wait().unwrap().is_none() {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn incident(flags: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_incident")).args(flags).stdin(Stdio::null()).output().unwrap()
}

/// The numbers of a role's row in the last three columns: 2xx, 401, 429.
fn on_three_nodes(output: &str, role: &str) -> [u64; 3] {
    let row = output
        .lines()
        .find(|line| line.trim_start().starts_with(role) && line.split_whitespace().count() > 9);
    let numbers: Vec<u64> = row
        .unwrap_or_else(|| panic!("no row of {role} in {output}"))
        .split_whitespace()
        .rev()
        .take(3)
        .map(|word| word.parse().unwrap())
        .collect();
    [numbers[2], numbers[1], numbers[0]]
}

#[test]
fn three_nodes_share_one_budget_with_every_framework() {
    let Some(redis) = Redis::start() else { return };
    let url = format!("redis://127.0.0.1:{}", redis.port);
    for framework in ["axum", "hyper", "actix-web"] {
        // An hour, so that no window ends however slow the machine is.
        let output = incident(&["--redis", &url, "--on", framework, "--window", "3600"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{framework}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
        let [passed, unauthorized, throttled] = on_three_nodes(&text, "scraper");
        // What nodes were lent they spend, since the scraper goes on at all of them.
        assert_eq!((passed, unauthorized, throttled), (300, 0, 2_700), "{framework}: {text}");
        let [passed, unauthorized, throttled] = on_three_nodes(&text, "forger");
        assert_eq!((passed + unauthorized, throttled), (300, 300), "{framework}: {text}");
        assert_eq!(on_three_nodes(&text, "edge"), [1_440, 0, 0], "{framework}: {text}");
        assert_eq!(on_three_nodes(&text, "orchestrator"), [480, 0, 0], "{framework}: {text}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let url = format!("redis://127.0.0.1:{}", free_port());
    let output = incident(&["--redis", &url]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no Redis or Valkey answers"), "{output:?}");
    assert_eq!(incident(&["--redis", "http://127.0.0.1"]).status.code(), Some(2));
}
