//! Several logs read as one.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use crate::support::{file, incident, json_of, run, run_on, text};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What policies did, but for the order of callers who were refused equally often.
fn policies(args: &[&str]) -> Vec<[serde_json::Value; 4]> {
    let output = run(&[&["--json", "--limit", "40/min", "--limit", "9/s"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((outcome["requests"].as_u64(), outcome["late"].as_u64()), (Some(6_520), Some(0)));
    let judged = outcome["policies"].as_array().unwrap().iter();
    judged
        .map(|policy| ["name", "refused", "refused_callers", "peaks"].map(|key| policy[key].clone()))
        .collect()
}

#[test]
fn logs_in_pieces_are_the_whole_log() {
    let dir = TempDir::new().unwrap();
    let log = incident("nginx");
    let whole = policies(&[text(&file(&dir, "whole.log", &log))]);
    let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();

    // Rotated: the newest first, as a shell sorts them.
    let (old, new) = lines.split_at(lines.len() / 3);
    let rotated =
        [file(&dir, "access.log", &new.concat()), file(&dir, "access.log.1.gz", &gzip(&old.concat()))];
    assert_eq!(policies(&[text(&rotated[0]), text(&rotated[1])]), whole);

    // Side by side: of three servers, two of which write other formats than the first.
    let other = incident("caddy");
    let other: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
    let third = incident("alb");
    let third: Vec<&[u8]> = third.split_inclusive(|byte| *byte == b'\n').collect();
    let every = |lines: &[&[u8]], from: usize| {
        lines.iter().skip(from).step_by(3).copied().collect::<Vec<_>>().concat()
    };
    let beside = [
        file(&dir, "a.log", &every(&lines, 0)),
        file(&dir, "b.log.zst", &zstd::encode_all(every(&other, 1).as_slice(), 1).unwrap()),
        file(&dir, "c.log", &every(&third, 2)),
    ];
    assert_eq!(policies(&[text(&beside[0]), text(&beside[1]), text(&beside[2])]), whole);
}

#[test]
fn packed_logs_are_unpacked_from_standard_input_too() {
    let log = incident("combined");
    let (plain, _) = json_of(&log, &[]);
    // Several members one after another, as appended logs have them.
    let (begin, end) = log.split_at(log.len() / 2);
    let zstd = zstd::encode_all(log.as_slice(), 3).unwrap();
    // A frame to skip, of four bytes, as parallel packers put before each other.
    let skipped = [b"\x50\x2a\x4d\x18\x04\0\0\0skip", zstd.as_slice()].concat();
    for packed in [gzip(&log), [gzip(begin), gzip(end)].concat(), zstd, skipped] {
        let (found, code) = json_of(&packed, &[]);
        assert_eq!((found["policies"] == plain["policies"], code), (true, 0));
    }
    assert_eq!(plain["policies"][0]["refused"], 3_720);
}

// The disorder of a log, up to a minute, changes nothing: here within each fifty seconds' story everything is reversed.
#[test]
fn disorder_within_a_minute_changes_nothing() {
    let log = incident("nginx");
    let mut lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
    lines.reverse();
    let (reversed, _) = json_of(&lines.concat(), &["--limit", "9/s"]);
    let (plain, _) = json_of(&log, &["--limit", "9/s"]);
    assert_eq!(reversed["policies"][0]["refused"], plain["policies"][0]["refused"]);
    assert_eq!(reversed["requests"], 6_520);
}

#[test]
fn callers_behind_proxies_are_found() {
    let line = |peer: &str, forwarded: &str| {
        format!(
            "{peer} - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\" \"{forwarded}\"\n"
        )
    };
    let log = [
        line("10.0.0.1", "6.6.6.6, 198.18.0.1"),
        line("10.0.0.2", "198.18.0.2"),
        line("10.0.0.1", "198.18.0.1"),
        line("203.0.113.9", "198.18.0.1"),
        line("10.0.0.3", "-"),
    ]
    .concat();
    let callers = |args: &[&str]| json_of(log.as_bytes(), args).0["callers"].as_u64();
    assert_eq!(callers(&[]), Some(4));
    assert_eq!(callers(&["--from", "xff", "--trust", "10.0.0.0/8"]), Some(4));
    assert_eq!(callers(&["--from", "xff", "--trust", "hops=1"]), Some(3));
    assert_eq!(callers(&["--v4-prefix", "8"]), Some(2));
    let notes = |args: &[&str]| json_of(log.as_bytes(), args).0["notes"].to_string();
    let header = ["--from", "header:X-Real-IP", "--trust", "10.0.0.0/8", "--pattern"];
    assert!(!notes(&["--from", "xff", "--trust", "10.0.0.0/8"]).contains("no line has the field"));
    let without = notes(&[&header[..], &["{peer} - - [{time}] {_}"]].concat());
    assert!(without.contains("no line has the field that --from names"), "{without}");
    let error = run_on(log.as_bytes(), &["--from", "xff"]);
    assert_eq!(error.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&error.stderr).contains("trust"), "{error:?}");
}
