//! What the tests share.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tollgate::{Keyer, Nanos, Origin, Prefixes};
use tollgate_replay::{Conduct, Entry, Policy, Replay};

/// Runs the program.
pub(crate) fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tollgate-replay")).args(args).stdin(Stdio::null()).output().unwrap()
}

/// Runs the program with something on its standard input.
pub(crate) fn run_on(input: &[u8], args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate-replay"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The program may have read enough before all is written.
    let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    output
}

/// What `--json` says of some input, and the exit code.
pub(crate) fn json_of(input: &[u8], args: &[&str]) -> (Value, i32) {
    let output = run_on(input, &[&["--json"], args].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!error.contains("panicked"), "{error}");
    (serde_json::from_slice(&output.stdout).expect(&error), output.status.code().unwrap())
}

/// The made-up log in some format.
pub(crate) fn incident(format: &str) -> Vec<u8> {
    let output = run(&["--generate", "incident", "--format", format]);
    assert!(output.status.success());
    output.stdout
}

/// A file in a directory of the test's own.
pub(crate) fn file(dir: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A request of a caller by its number.
pub(crate) fn entry(caller: u8, time: u64, own: Option<u8>) -> Entry {
    let caller = Origin::peer([198, 18, 0, caller].into());
    Entry { time: Nanos(time), hint: 0, caller, own, conduct: Conduct::Public }
}

/// A replay of these requests.
pub(crate) fn replayed(entries: &[Entry], policies: Vec<Policy>, services: &[String]) -> Replay {
    let mut replay = Replay::new(policies, Prefixes::DEFAULT, services, 1_000, KEYER).unwrap();
    for entry in entries {
        replay.push(*entry);
    }
    replay.finish();
    replay
}

pub(crate) const KEYER: Keyer = Keyer::new(*b"a seed for tests");
