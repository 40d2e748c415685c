//! Parsers against regular expressions, and against each other.

use std::fmt::Debug;
use std::net::IpAddr;

use proptest::collection::vec;
use proptest::prelude::*;
use regex::bytes::Regex;
use tollgate_replay::{FORMATS, Fault, Format, Parser, Pattern, Record, Stamps, Wanted};

use crate::support::incident;

/// What a record says, in values that can be compared.
#[derive(PartialEq, Debug)]
struct Said {
    time: u64,
    peer: IpAddr,
    forwarded: Option<String>,
    agent: String,
    path: String,
    status: u16,
}

fn said(record: &Record<'_>) -> Said {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said {
        time: record.time.0,
        peer: record.peer,
        forwarded: record.forwarded.as_deref().map(text),
        agent: text(record.agent),
        path: text(record.path),
        status: record.status,
    }
}

/// The combined format by a regular expression; with what may be escaped left as it is.
fn oracle(line: &[u8]) -> Option<Said> {
    let shape = Regex::new(
        r#"(?-u)^(\S+) [^"]*\[([^\]"]{26})\] "((?:[^"\\]|\\.)*)" +(\d{1,3}|-) +(\S+)(?: +"((?:[^"\\]|\\.)*)")?(?: +"((?:[^"\\]|\\.)*)")?(?: +"((?:[^"\\]|\\.)*)")?"#,
    )
    .unwrap();
    let found = shape.captures(line)?;
    let text = |index: usize| {
        let bytes = found.get(index).map_or(&b""[..], |found| found.as_bytes());
        String::from_utf8_lossy(bytes).into_owned()
    };
    let present = |text: String| if text == "-" { String::new() } else { text };
    let request = text(3);
    let parts: Vec<&str> = request.splitn(3, ' ').collect();
    Some(Said {
        time: Stamps::default().clf(&found[2])?.0,
        peer: text(1).parse().ok()?,
        forwarded: Some(present(text(8))).filter(|text| !text.is_empty()),
        agent: present(text(7)),
        path: (*parts.get(1).or(parts.first())?).to_owned(),
        status: text(4).parse().unwrap_or(0),
    })
}

/// Lines as servers write them, with some odd ones.
fn written() -> impl Strategy<Value = String> {
    let host = prop_oneof![
        any::<[u8; 4]>().prop_map(|octets| IpAddr::from(octets).to_string()),
        any::<u128>().prop_map(|bits| std::net::Ipv6Addr::from(bits).to_string()),
    ];
    let user = prop_oneof![Just("-".to_owned()), "[a-z \\[\\]]{1,12}"];
    let quoted = || prop_oneof![Just("-".to_owned()), "([ -!#-\\[\\]-~]|\\\\\"|\\\\\\\\){0,40}"];
    let request = prop_oneof![
        "(GET|POST) /[a-z/?=&]{0,20} HTTP/1\\.[01]",
        quoted().prop_filter("no URL", |text| !text.contains("://"))
    ];
    let tail = vec(quoted(), 0..4);
    let time = (1..29_u8, 0..24_u8, 0..60_u8, 0..60_u8);
    (host, user, time, request, 100..600_u16, tail).prop_map(
        |(host, user, (d, h, m, s), request, status, tail)| {
            let mut line = format!(
                "{host} - {user} [{d:02}/May/2015:{h:02}:{m:02}:{s:02} +0200] \"{request}\" {status} 512"
            );
            for text in tail {
                line.extend([" \"", &text, "\""]);
            }
            line
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn combined_lines_are_what_a_regular_expression_finds(line in written()) {
        let mut parser = Parser::new(Format::Combined, Wanted::default());
        let mut found = said(&parser.parse(line.as_bytes()).unwrap());
        let mut expected = oracle(line.as_bytes()).unwrap();
        // Only the parser takes escapes away.
        if line.contains('\\') {
            (found.forwarded, expected.forwarded) = (None, None);
        }
        prop_assert_eq!(found, expected);
    }

    /// A changed byte anywhere: the parser reads what the expression does, or refuses.
    #[test]
    fn damaged_lines_are_not_misread(line in written(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut line = line.into_bytes();
        let at = at.index(line.len());
        line[at] = byte;
        let mut parser = Parser::new(Format::Combined, Wanted::default());
        if let (Ok(record), Some(expected)) = (parser.parse(&line), oracle(&line)) {
            prop_assert_eq!((record.time.0, record.peer, record.status), (expected.time, expected.peer, expected.status));
        }
    }

    #[test]
    fn no_line_panics(line in vec(prop_oneof![any::<u8>(), prop::sample::select(&b" \"[]{}:\\-/+0"[..])], 0..120)) {
        for format in FORMATS.into_iter().chain([Format::Pattern("{peer} {time} {agent}".parse().unwrap())]) {
            let _ = Parser::new(format, Wanted::default()).parse(&line);
        }
        let _ = Format::detect([line.as_slice()]);
    }

    /// A pattern that says what the combined format is reads the same; where there is nothing to escape.
    #[test]
    fn a_pattern_of_the_combined_format_reads_the_same(line in written()) {
        let pattern: Pattern =
            r#"{peer} - {user} [{time}] "{request}" {status} {_} "{referer}" "{agent}""#.parse().unwrap();
        if line.contains('\\') || line.matches('"').count() != 6 || line.matches(" [").count() != 1 {
            return Ok(());
        }
        let mut parser = Parser::new(Format::Combined, Wanted::default());
        let mut patterned = Parser::new(Format::Pattern(pattern), Wanted::default());
        prop_assert_eq!(said(&patterned.parse(line.as_bytes()).unwrap()), said(&parser.parse(line.as_bytes()).unwrap()));
    }
}

#[test]
fn each_format_tells_the_same_story() {
    let formats = ["combined", "alb", "nginx", "caddy", "traefik", "envoy"];
    let mut stories = Vec::new();
    for (name, format) in formats.iter().zip([
        Format::Combined,
        Format::Alb,
        Format::Nginx,
        Format::Caddy,
        Format::Traefik,
        Format::Envoy,
    ]) {
        let log = incident(name);
        let lines: Vec<&[u8]> = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        assert_eq!(Format::detect(lines.iter().copied().take(20)), Some(format.clone()));
        let mut parser = Parser::new(format, Wanted::default());
        let story: Vec<Said> = lines
            .iter()
            .map(|line| {
                let mut said = said(&parser.parse(line).unwrap());
                // The combined format tells whole seconds.
                said.time -= said.time % 1_000_000_000;
                said
            })
            .collect();
        assert_eq!(story.len(), 6_520);
        stories.push(story);
    }
    assert!(stories.iter().all(|story| *story == stories[0]));
}

#[test]
fn what_is_amiss_is_told() {
    let mut parser = Parser::new(Format::Combined, Wanted::default());
    for (line, fault) in [
        ("", Fault::Shape),
        ("garbage", Fault::Shape),
        (r#"crawler.example - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#, Fault::Address),
        (r#"198.18.0.1 - - [17/Mai/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#, Fault::Time),
        (r#"198.18.0.1 - - [17/May/1915:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#, Fault::Time),
        (r#"198.18.0.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" OK 1"#, Fault::Shape),
        (r#"198.18.0.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1"#, Fault::Shape),
    ] {
        assert_eq!(parser.parse(line.as_bytes()).unwrap_err(), fault, "{line}");
    }
}

// A caller that writes quotes, or a whole line, into what is logged of it is not taken for another.
#[test]
fn what_callers_write_is_not_taken_for_a_line() {
    let mut parser = Parser::new(Format::Combined, Wanted::default());
    let agent = r#"198.18.0.1 - x [17/May/2015:10:05:03 +0000] "GET /\" 200 1 \"-\" \"6.6.6.6 - - [1/1/1] HTTP" 404 1 "-" "\"a\" [b] \\" "10.0.0.1""#;
    let record = parser.parse(agent.as_bytes()).unwrap();
    assert_eq!((record.status, record.agent), (404, &br#"\"a\" [b] \\"#[..]));
    assert_eq!(record.forwarded.as_deref(), Some(&b"10.0.0.1"[..]));
    let user =
        r#"198.18.0.1 - a [17/May/2000:10:05:03 +0000] [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#;
    assert_eq!(parser.parse(user.as_bytes()).unwrap().time.0, 1_431_857_103_000_000_000);
}

#[test]
fn headers_of_json_logs_are_found() {
    let wanted = Wanted { forwarded: Some("X-Forwarded-For".into()), fields: vec!["X-Service".into()] };
    let caddy = r#"{"ts":1431857103.25,"request":{"remote_ip":"10.0.0.1","uri":"/a","headers":{"X-Forwarded-For":["6.6.6.6","198.18.0.1"],"X-Service":["edge"],"User-Agent":["curl"]}},"status":200}"#;
    let traefik = r#"{"StartUTC":"2015-05-17T10:05:03.25Z","ClientHost":"10.0.0.1","RequestPath":"/a","DownstreamStatus":200,"request_X-Forwarded-For":"6.6.6.6, 198.18.0.1","request_X-Service":"edge","request_User-Agent":"curl"}"#;
    let nginx = r#"{"msec":"1431857103.250","remote_addr":"10.0.0.1","request":"GET /a HTTP/1.1","status":"200","http_x_forwarded_for":"6.6.6.6, 198.18.0.1","http_x_service":"edge","http_user_agent":"curl"}"#;
    for (format, line) in [(Format::Caddy, caddy), (Format::Traefik, traefik), (Format::Nginx, nginx)] {
        let mut parser = Parser::new(format.clone(), wanted.clone());
        let record = parser.parse(line.as_bytes()).unwrap();
        assert_eq!(record.forwarded.as_deref(), Some(&b"6.6.6.6, 198.18.0.1"[..]), "{format}");
        assert_eq!(record.fields[0], Some(&b"edge"[..]), "{format}");
        assert_eq!(said(&record).agent, "curl", "{format}");
        assert_eq!(record.time.0, 1_431_857_103_250_000_000, "{format}");
    }
}

#[test]
fn patterns_that_can_not_work_say_why() {
    for (pattern, word) in [
        ("", "{peer}"),
        ("{peer}", "{time}"),
        ("{time}", "{peer}"),
        ("{peer}{time}", "touch"),
        ("{peer} {time", "closed"),
    ] {
        let error = pattern.parse::<Pattern>().unwrap_err().to_string();
        assert!(error.contains(word), "{pattern}: {error}");
    }
    let pattern = "{peer} ({time}) {_} {x}";
    assert_eq!(pattern.parse::<Pattern>().unwrap().to_string(), pattern);
}
