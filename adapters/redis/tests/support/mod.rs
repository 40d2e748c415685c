//! What the tests share: servers of their own, nodes, and waiting for conditions.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod outages;
pub(crate) mod proxy;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tollgate::{Key, Keyer, Nanos, Quota};
use tollgate_redis::{Server, SharedLimiter, Store, StoreBuilder, TimeSource};

pub(crate) const KEYER: Keyer = Keyer::new(*b"a seed for tests");

/// Generous: only a test that fails waits so long.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// A server of this test's own; it ends with it.
pub(crate) struct TestServer {
    process: Child,
    pub(crate) port: u16,
    arguments: Vec<String>,
    directory: TempDir,
}

impl TestServer {
    /// Starts one, or says loudly that the test is skipped.
    pub(crate) fn start(arguments: &[&str]) -> Option<Self> {
        if Command::new("redis-server").arg("--version").stdout(Stdio::null()).status().is_err() {
            assert!(std::env::var_os("CI").is_none(), "redis-server is missing, and CI is set: install it");
            eprintln!("SKIPPED: there is no redis-server on this machine; install it to run this test");
            return None;
        }
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.into()).collect();
        // A free port may be taken before the server is.
        (0..10).find_map(|_| {
            let (port, directory) = (free_port(), TempDir::new().unwrap());
            let process = launch(port, &directory, &arguments);
            let mut server = Self { process, port, arguments: arguments.clone(), directory };
            server.is_up().then_some(server)
        })
    }

    pub(crate) fn address(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again at its port, empty.
    pub(crate) fn restart(&mut self) {
        self.process = launch(self.port, &self.directory, &self.arguments);
        assert!(self.is_up());
    }

    /// Sends it a signal: STOP or CONT.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
    }

    /// A command over a connection of its own; the answer's first line.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(&encoded(words)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut answer = [0; 4096];
        let read = stream.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..read]).trim_end().into()
    }

    /// The key that is new after something was done.
    pub(crate) async fn key_after<F: Future>(&self, done: impl FnOnce() -> F) -> String {
        let before = self.lives();
        let _ = done().await;
        let new = self.lives().into_iter().find(|(key, _)| before.iter().all(|(known, _)| known != key));
        new.unwrap().0
    }

    /// All its keys and for how many milliseconds each still lives; negative if for ever.
    pub(crate) fn lives(&self) -> Vec<(String, i64)> {
        self.lives_in(0)
    }

    /// The same of another database.
    pub(crate) fn lives_in(&self, database: u8) -> Vec<(String, i64)> {
        let client = redis::Client::open(format!("{}/{database}", self.address())).unwrap();
        let mut connection = client.get_connection().unwrap();
        let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
        keys.into_iter()
            .map(|key| {
                let life = redis::cmd("PTTL").arg(&key).query(&mut connection).unwrap();
                (key, life)
            })
            .collect()
    }

    fn is_up(&mut self) -> bool {
        let began = Instant::now();
        while began.elapsed() < DEADLINE {
            if self.process.try_wait().unwrap().is_some() {
                return false;
            }
            if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
                stream.set_read_timeout(Some(DEADLINE)).unwrap();
                let mut answer = [0; 5];
                // Some answer: a server with passwords refuses.
                if stream.write_all(&encoded(&["PING"])).is_ok() && stream.read_exact(&mut answer).is_ok() {
                    return true;
                }
            }
            std::thread::yield_now();
        }
        false
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // It may be stopped, and then only a kill ends it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn launch(port: u16, directory: &TempDir, arguments: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(["--port", &port.to_string(), "--dir", &directory.path().display().to_string()])
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn encoded(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
    }
    bytes
}

/// A node as tests want it: it waits as long as it takes, and time is what it is told.
pub(crate) fn node(server: &TestServer) -> StoreBuilder {
    Store::builder(Server::single(server.address()), &KEYER)
        .wait(DEADLINE)
        .time(TimeSource::Caller)
        .margin(Duration::from_hours(1))
}

pub(crate) async fn connected(builder: StoreBuilder) -> Store {
    let store = builder.build().unwrap();
    tokio::time::timeout(DEADLINE, store.connected()).await.expect("the store is connected in time");
    store
}

pub(crate) fn strict(store: &Store, name: &str, quota: Quota) -> SharedLimiter {
    store.limiter(name, quota).capacity(1024).strict().build().unwrap()
}

pub(crate) fn key(number: u64) -> Key {
    KEYER.bytes(&number.to_le_bytes())
}

/// Polls until something holds.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < DEADLINE, "in {DEADLINE:?} it never came true that {what}");
        tokio::task::yield_now().await;
    }
}

pub(crate) const SECOND: Nanos = Nanos::from_secs(1);
