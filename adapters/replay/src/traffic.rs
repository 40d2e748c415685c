//! A made-up log: the incident that tollgate comes from, as the platform's web server would have written it.

use std::io::{self, Write};
use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde_json::json;
use tollgate_replay::Format;

/// One request.
struct Event {
    /// Milliseconds since the story begins.
    at: u32,
    peer: Ipv4Addr,
    method: &'static str,
    path: String,
    status: u16,
    agent: &'static str,
    /// The service that proved who it is.
    service: Option<&'static str>,
}

/// Who calls, from how many addresses, how many at once from each, and how often each of these.
struct Role {
    addresses: u8,
    tasks: u16,
    requests: u16,
    /// The first address.
    from: [u8; 4],
    agents: &'static [&'static str],
    service: Option<&'static str>,
    /// The request of a task, by the task and its number.
    call: fn(u16, u16) -> (&'static str, String, u16),
}

/// Writes the log. Nothing of it is left to chance.
pub(crate) fn incident(format: &Format, to: &mut impl Write) -> io::Result<()> {
    let mut events: Vec<Event> = ROLES.iter().flat_map(events).collect();
    events.sort_by_key(|event| event.at);
    for event in &events {
        writeln!(to, "{}", line(event, format))?;
    }
    to.flush()
}

fn events(role: &Role) -> Vec<Event> {
    let mut events = Vec::new();
    for address in 0..role.addresses {
        for task in 0..role.tasks {
            for request in 0..role.requests {
                let (method, path, status) = (role.call)(task, request);
                let [a, b, c, d] = role.from;
                let began = u32::from(address) * 41 + u32::from(task) * 97 % STEP;
                events.push(Event {
                    at: began + u32::from(request) * (LENGTH / u32::from(role.requests)),
                    peer: Ipv4Addr::new(a, b, c, d + address),
                    method,
                    path,
                    status,
                    agent: role.agents[usize::from(address) % role.agents.len()],
                    service: role.service,
                });
            }
        }
    }
    events
}

/// The cast of `examples/incident`, from the same number of addresses each and with as many requests.
const ROLES: [Role; 5] = [
    Role {
        addresses: 3,
        tasks: 20,
        requests: 24,
        from: [198, 51, 100, 1],
        agents: &["edge/2.4"],
        service: Some("edge"),
        call: |task, request| {
            let path = if request % 2 == 0 {
                format!("/internal/domains/app-{task}.example")
            } else {
                format!("/internal/previews/preview-{task}/access")
            };
            ("GET", path, 200)
        },
    },
    Role {
        addresses: 1,
        tasks: 40,
        requests: 12,
        from: [192, 0, 2, 10],
        agents: &["orchestrator/1.9"],
        service: Some("orchestrator"),
        call: |task, _| ("PUT", format!("/internal/turns/turn-{task}"), 204),
    },
    Role {
        addresses: 50,
        tasks: 1,
        requests: 20,
        from: [203, 0, 113, 1],
        agents: &[
            "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0",
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.2 Safari/605.1.15",
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36",
        ],
        service: None,
        call: |_, request| ("GET", format!("/?page={request}"), 200),
    },
    Role {
        addresses: 1,
        tasks: 8,
        requests: 375,
        from: [203, 0, 113, 200],
        agents: &["python-requests/2.32.5"],
        service: None,
        call: |task, request| {
            ("GET", format!("/?page={}", u32::from(task) * 1_000 + u32::from(request)), 200)
        },
    },
    Role {
        addresses: 1,
        tasks: 8,
        requests: 75,
        from: [203, 0, 113, 201],
        agents: &["curl/8.17.0"],
        service: None,
        call: |task, request| {
            if request % 2 == 0 {
                ("GET", "/".into(), 200)
            } else {
                ("GET", format!("/internal/domains/app-{task}.example"), 401)
            }
        },
    },
];

fn line(event: &Event, format: &Format) -> String {
    let Event { at, peer, method, path, status, agent, service } = event;
    let second = BEGIN + i64::from(at / 1_000);
    let moment = Timestamp::new(second, i32::try_from(at % 1_000).unwrap_or_default() * 1_000_000);
    let moment = moment.unwrap_or_default();
    let clf = moment.strftime("%d/%b/%Y:%H:%M:%S +0000");
    let iso = format!("{moment:.6}");
    let size = 512 + at % 4_096;
    let service = service.unwrap_or("-");
    match format {
        Format::Common => format!(r#"{peer} - - [{clf}] "{method} {path} HTTP/1.1" {status} {size}"#),
        Format::Alb => format!(
            r#"https {iso} app/api/50dc6c495c0c9188 {peer}:4242 10.0.0.66:80 0.001 0.002 0.000 {status} {status} 120 {size} "{method} https://api.example:443{path} HTTP/1.1" "{agent}" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/api/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "api.example" "-" 1 {iso} "forward" "-" "-" "10.0.0.66:80" "{status}" "-" "-""#
        ),
        Format::Nginx => json!({
            "time_iso8601": iso, "remote_addr": peer, "request": format!("{method} {path} HTTP/1.1"), "status": status.to_string(),
            "body_bytes_sent": size.to_string(), "http_referer": "", "http_user_agent": agent, "service": service,
        })
        .to_string(),
        Format::Caddy => json!({
            "level": "info", "ts": f64::from(*at) / 1_000.0 + 1_767_614_400.0, "logger": "http.log.access", "msg": "handled request",
            "request": {
                "remote_ip": peer, "remote_port": "4242", "client_ip": peer, "proto": "HTTP/2.0", "method": method,
                "host": "api.example", "uri": path, "headers": { "User-Agent": [agent], "X-Service": [service] },
            },
            "bytes_read": 0, "user_id": "", "duration": 0.001, "size": size, "status": status,
        })
        .to_string(),
        Format::Traefik => json!({
            "ClientAddr": format!("{peer}:4242"), "ClientHost": peer, "ClientPort": "4242", "DownstreamStatus": status,
            "DownstreamContentSize": size, "Duration": 1_000_000, "RequestMethod": method, "RequestPath": path,
            "RequestProtocol": "HTTP/2.0", "StartUTC": iso, "request_User-Agent": agent, "request_X-Service": service,
            "level": "info", "msg": "", "time": iso,
        })
        .to_string(),
        Format::Envoy => json!({
            "start_time": iso, "method": method, "path": path, "protocol": "HTTP/2", "response_code": status, "bytes_sent": size,
            "user_agent": agent, "downstream_direct_remote_address": format!("{peer}:4242"), "x_service": service,
        })
        .to_string(),
        _ => format!(r#"{peer} - - [{clf}] "{method} {path} HTTP/1.1" {status} {size} "-" "{agent}""#),
    }
}

/// 2026-01-05, 12:00 UTC.
const BEGIN: i64 = 1_767_614_400;
/// How long the story is, in milliseconds: within one window of a minute.
const LENGTH: u32 = 50_000;
/// Tasks begin within this time.
const STEP: u32 = 4_000;
