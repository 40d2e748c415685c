//! Whatever is wrong with a log is told, what could be read counts, and nothing panics.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use crate::support::{file, incident, json_of, run, text};

const LINE: &str = "198.18.0.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\"\n";

/// The notes and troubles of an outcome.
fn told(outcome: &serde_json::Value) -> String {
    outcome["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_owned() + "\n").collect()
}

#[test]
fn an_empty_log() {
    for log in ["", "\n\n"] {
        let (outcome, code) = json_of(log.as_bytes(), &[]);
        assert_eq!((code, outcome["requests"].as_u64()), (2, Some(0)));
        assert!(told(&outcome).contains("empty"), "{}", told(&outcome));
    }
    // Beside others, as a log is just after it was rotated, it is no trouble.
    let dir = TempDir::new().unwrap();
    let (log, empty) = (file(&dir, "a.log", LINE.as_bytes()), file(&dir, "b.log", b""));
    let output = run(&[text(&log), text(&empty)]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("b.log: it is empty"), "{output:?}");
}

#[test]
fn a_binary_file() {
    let binary: Vec<u8> = (0..100_000_u32).map(|number| (number.wrapping_mul(number) % 251) as u8).collect();
    let (outcome, code) = json_of(&binary, &[]);
    assert_eq!((code, outcome["requests"].as_u64()), (2, Some(0)));
    assert!(told(&outcome).contains("binary"), "{}", told(&outcome));
}

#[test]
fn a_text_that_is_no_log() {
    let (outcome, code) = json_of("Dear reader,\n\u{1b}[31mthis is a letter.\n".as_bytes(), &[]);
    assert_eq!((code, outcome["requests"].as_u64()), (2, Some(0)));
    assert!(
        told(&outcome).contains("--pattern") && told(&outcome).contains("Dear reader"),
        "{}",
        told(&outcome)
    );
}

#[test]
fn a_gzip_that_breaks_off() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&incident("combined")).unwrap();
    let mut packed = encoder.finish().unwrap();
    packed.truncate(packed.len() / 2);
    let (outcome, code) = json_of(&packed, &[]);
    assert_eq!(code, 2);
    let requests = outcome["requests"].as_u64().unwrap();
    assert!((1_000..6_520).contains(&requests), "{requests}");
    assert_eq!(outcome["unparsed"], 0, "a piece of a line is not taken for one");
    assert!(told(&outcome).contains("breaks off"), "{}", told(&outcome));
}

#[test]
fn a_packed_log_that_breaks_off_before_a_line() {
    let packed = zstd::encode_all(incident("combined").as_slice(), 1).unwrap();
    let (outcome, code) = json_of(&packed[..500], &[]);
    assert_eq!((code, outcome["requests"].as_u64()), (2, Some(0)));
    assert!(told(&outcome).contains("breaks off before a line is whole"), "{}", told(&outcome));
}

#[test]
fn garbage_in_a_zstd_frame() {
    let mut packed = zstd::encode_all(incident("combined").as_slice(), 1).unwrap();
    let middle = packed.len() / 2;
    packed[middle..].fill(0xa5);
    let (outcome, code) = json_of(&packed, &[]);
    assert_eq!(code, 2);
    assert!(told(&outcome).contains("breaks off") || told(&outcome).contains("empty"), "{}", told(&outcome));
}

#[test]
fn a_line_of_ten_megabytes() {
    let log = [LINE.as_bytes(), &vec![b'x'; 10 << 20], b"\n", LINE.as_bytes()].concat();
    let (outcome, code) = json_of(&log, &[]);
    assert_eq!((code, outcome["requests"].as_u64(), outcome["unparsed"].as_u64()), (0, Some(2), Some(1)));
    assert!(told(&outcome).contains("1 longer than 1 MiB"), "{}", told(&outcome));
    assert!(told(&outcome).len() < 1_000, "a sample is cut");
}

// As of a log that was emptied while its writer went on where it was.
#[test]
fn a_long_first_line() {
    for length in [70 << 10, 900 << 10, 3 << 20] {
        for byte in [0, b'x'] {
            let log = [&vec![byte; length], LINE.as_bytes(), LINE.as_bytes()].concat();
            let (outcome, code) = json_of(&log, &[]);
            assert_eq!((code, outcome["requests"].as_u64()), (0, Some(1)), "{length} of {byte}");
            assert_eq!(
                (outcome["unparsed"].as_u64(), outcome["inputs"][0]["lines"].as_u64()),
                (Some(1), Some(2))
            );
            let (outcome, code) = json_of(&log[..length], &[]);
            assert_eq!((code, outcome["requests"].as_u64()), (2, Some(0)), "{length} of {byte}");
            let word = if byte == 0 { "binary" } else { "--pattern" };
            assert!(told(&outcome).contains(word), "{}", told(&outcome));
        }
    }
}

#[test]
fn formats_that_are_mixed() {
    let json = r#"{"ts":1431857103.25,"request":{"remote_ip":"10.0.0.1","uri":"/a"},"status":200}"#;
    let log = format!("{}{json}\n{json}\nnonsense\n", LINE.repeat(5));
    let (outcome, code) = json_of(log.as_bytes(), &[]);
    assert_eq!((code, outcome["requests"].as_u64(), outcome["unparsed"].as_u64()), (0, Some(5), Some(3)));
    assert_eq!(outcome["inputs"][0]["format"], "combined log format");
    let told = told(&outcome);
    assert!(told.contains("2 are of another (JSON lines, Caddy)") && told.contains("nonsense"), "{told}");
}

#[test]
fn clocks_that_jump() {
    let at =
        |day: u32, minute: u32| LINE.replace("17/May/2015:10:05", &format!("{day}/May/2015:10:{minute:02}"));
    // One line from the future: what follows is not late for it.
    let log = [at(17, 5), at(17, 5), at(27, 5), at(17, 6), at(17, 6)].concat();
    let (outcome, code) = json_of(log.as_bytes(), &[]);
    assert_eq!((code, outcome["requests"].as_u64(), outcome["astray"].as_u64()), (0, Some(4), Some(1)));
    assert!(told(&outcome).contains("ahead"), "{}", told(&outcome));
    // A pause of days is none.
    let log = [at(17, 5), at(17, 5), at(27, 5), at(27, 6)].concat();
    let (outcome, _) = json_of(log.as_bytes(), &[]);
    assert_eq!((outcome["requests"].as_u64(), outcome["astray"].as_u64()), (Some(4), Some(0)));
    // A clock that was set back: what is older is left out, and told.
    let log = [at(17, 30), at(17, 5), at(17, 6), at(17, 31)].concat();
    let (outcome, code) = json_of(log.as_bytes(), &[]);
    assert_eq!((code, outcome["requests"].as_u64(), outcome["late"].as_u64()), (0, Some(2), Some(2)));
    assert!(told(&outcome).contains("set back"), "{}", told(&outcome));
}

#[test]
fn a_log_that_is_not_there_beside_one_that_is() {
    let dir = TempDir::new().unwrap();
    let log = file(&dir, "a.log", LINE.as_bytes());
    let output = run(&[text(&log), text(&dir.path().join("none.log")), text(dir.path()), "--json"]);
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), outcome["requests"].as_u64()), (Some(2), Some(1)));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("none.log: it can't be read"), "{error}");
    assert_eq!(error.lines().count(), 2, "{error}");
}

// What callers wrote into a log can't steer a terminal.
#[test]
fn control_bytes_of_a_log_are_escaped() {
    let log = format!("{LINE}\u{1b}]0;title\u{7}\u{202e}\r\n");
    let output = crate::support::run_on(log.as_bytes(), &[]);
    let summary = String::from_utf8(output.stdout).unwrap();
    assert!(summary.contains("\\u{1b}]0;title\\u{7}\\u{202e}"), "{summary}");
    assert!(!summary.contains('\u{1b}'));
}
