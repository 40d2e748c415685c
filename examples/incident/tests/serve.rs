//! The program as others call it: `--serve` with its flags, over sockets.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server that ends with its test.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn with(flags: &[&str]) -> Self {
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
        Self { child, address }
    }

    /// The whole response to a request with these fields.
    fn get(&self, path: &str, fields: &str) -> String {
        self.ask("GET", path, fields)
    }

    fn ask(&self, method: &str, path: &str, fields: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: api\r\nConnection: close\r\n{fields}\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn status(&self, path: &str, fields: &str) -> u16 {
        self.get(path, fields).split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn caller(&self, fields: &str) -> serde_json::Value {
        let response = self.get("/caller", fields);
        serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const FRAMEWORKS: &[&str] = &["axum", "hyper", "actix-web"];

/// On each framework, with these flags.
fn on_each(flags: &[&str], check: impl Fn(&Server)) {
    for framework in FRAMEWORKS {
        check(&Server::with(&[&["--on", framework], flags].concat()));
    }
}

#[test]
fn callers_are_found_where_it_is_said() {
    let forged = "X-Forwarded-For: 6.6.6.6, 198.51.100.1\r\nForwarded: for=\"[2001:db8:1:2::3]\"\r\nX-Real-IP: 203.0.113.7\r\n";
    for (flags, address, key) in [
        (&[][..], "127.0.0.1", "127.0.0.1/32"),
        (&["--from", "xff", "--trust", "127.0.0.0/8"], "198.51.100.1", "198.51.100.1/32"),
        (&["--from", "xff", "--trust", "hops=2"], "6.6.6.6", "6.6.6.6/32"),
        (&["--from", "xff", "--trust", "10.0.0.0/8"], "127.0.0.1", "127.0.0.1/32"),
        (
            &["--from", "forwarded", "--trust", "127.0.0.1", "--trust", "::1"],
            "2001:db8:1:2::3",
            "2001:db8:1:2::/64",
        ),
        (
            &["--from", "forwarded", "--trust", "hops=1", "--v6-prefix", "48"],
            "2001:db8:1:2::3",
            "2001:db8:1::/48",
        ),
        (
            &["--from", "header:X-Real-IP", "--trust", "hops=1", "--v4-prefix", "24"],
            "203.0.113.7",
            "203.0.113.0/24",
        ),
    ] {
        on_each(flags, |server| {
            assert_eq!(
                server.caller(forged),
                serde_json::json!({"address": address, "key": key}),
                "{flags:?}"
            );
        });
    }
}

#[test]
fn exempt_callers_and_modes_are_told_their_address() {
    let token = format!("X-Internal-Token: {TOKEN}\r\n");
    for (mode, plain) in [("enforce", 429), ("shadow", 200), ("off", 200)] {
        on_each(&["--limit", "3", "--mode", mode], |server| {
            let statuses: Vec<_> = (0..5).map(|_| server.status("/", "")).collect();
            assert_eq!(statuses, [200, 200, 200, plain, plain], "{mode}");
            assert_eq!(server.caller(&token)["key"], "127.0.0.1/32", "{mode}");
            assert_eq!(server.status("/internal/domains/app-7.example", &token), 200);
            assert!(!server.get("/", &token).contains("ratelimit"));
        });
        on_each(&["--mode", mode], |server| {
            assert_eq!(server.caller("")["key"], "127.0.0.1/32", "{mode}");
            assert_eq!(server.status("/internal/domains/app-7.example", "X-Internal-Token: forged\r\n"), 401);
        });
    }
}

#[test]
fn algorithms_and_fields_are_as_the_flags_say() {
    for (algorithm, standing) in [("fixed", "r=2;t=60"), ("sliding", "r=2;t="), ("gcra", "r=2;t=20")] {
        on_each(&["--limit", "3", "--algorithm", algorithm, "--legacy-fields"], |server| {
            let response = server.get("/", "").to_ascii_lowercase();
            assert!(
                response.contains(&format!("ratelimit: \"default\";{standing}")),
                "{algorithm}: {response}"
            );
            assert!(response.contains("ratelimit-policy: \"default\";q=3;w=60\r\n"), "{response}");
            for line in ["x-ratelimit-limit: 3\r\n", "x-ratelimit-remaining: 2\r\n"] {
                assert!(response.contains(line), "{response}");
            }
            assert_eq!([0; 3].map(|_| server.status("/", "")), [200, 200, 429], "{algorithm}");
        });
    }
}

// What is counted is for everybody to read here, so it has no address in it.
#[test]
fn metrics_are_exposed_and_name_no_address() {
    let forwarded = "X-Forwarded-For: 198.51.100.77\r\n";
    on_each(&["--limit", "3", "--from", "xff", "--trust", "127.0.0.0/8"], |server| {
        for _ in 0..20 {
            server.status("/", &format!("{forwarded}X-Internal-Token: a token of yesterday\r\n"));
        }
        assert_eq!(
            server.status("/internal/domains/app-7.example", &format!("X-Internal-Token: {TOKEN}\r\n")),
            200
        );
        let response = server.get("/metrics", "");
        let (head, text) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(head.to_ascii_lowercase().contains("content-type: text/plain; version=0.0.4"), "{head}");
        for line in [
            r#"tollgate_decisions_total{policy="default",outcome="refused"} 17"#,
            r#"tollgate_throttled_callers{finding="own service"} 1"#,
            r#"tollgate_throttled_refusals{finding="own service"} 17"#,
            r#"tollgate_exempt_total{service="internal"} 1"#,
            "tollgate_forged_total 20",
            r#"tollgate_table_restraining_slots{policy="default"} 2"#,
        ] {
            assert!(text.lines().any(|told| told == line), "{line} is not in\n{text}");
        }
        for address in ["198.51.", "127.0.", "::1", "caller-", TOKEN, "yesterday"] {
            assert!(!text.contains(address), "{address} is in\n{text}");
        }
    });
}

// HEAD has no body, and whoever is throttled can look.
#[test]
fn the_report_is_for_own_services_and_outside_of_the_limits() {
    on_each(&["--limit", "1"], |server| {
        assert_eq!([0; 3].map(|_| server.status("/", "")), [200, 429, 429]);
        assert_eq!(server.status("/throttled", ""), 401);
        let token = format!("X-Internal-Token: {TOKEN}\r\n");
        let page = server.get("/throttled", &token);
        assert!(
            page.contains("<!doctype html>")
                && page.to_ascii_lowercase().contains("content-security-policy: default-src 'none'")
        );
        let json = server.get("/throttled?format=json", &token);
        assert!(json.contains(r#""address":"127.0.0."#) && !json.contains(TOKEN), "{json}");
        let head = server.ask("HEAD", "/throttled", &token);
        assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
        assert!(server.ask("POST", "/throttled", &token).starts_with("HTTP/1.1 405 "));
    });
}

#[test]
fn what_can_not_work_is_told_and_ends_with_2() {
    for (flags, advice) in [
        (&["--limit", "0"][..], "use at least 1"),
        (&["--from", "xff"], "trust the networks of your proxies"),
        (&["--trust", "10.0.0.0/8"], "choose the one that they set"),
        (&["--from", "xff", "--trust", "::ffff:10.0.0.0/8"], "probably 10.0.0.0/8"),
        (&["--from", "xff", "--trust", "10.1.0.0/8"], "write 10.0.0.0/8"),
        (&["--from", "xff", "--trust", "hops=0"], "use 1 to 32"),
        (&["--from", "xff", "--trust", "hops=many"], "hops=1"),
        (&["--from", "cookie"], "use peer, xff, forwarded or header:NAME"),
        (&["--from", "header:"], "use a header's name"),
        (&["--v4-prefix", "0"], "8 to 32 bits"),
        (&["--on", "rocket"], "axum"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_incident")).args(flags).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {told}");
        assert!(told.contains(advice), "{flags:?}: {told}");
    }
}
