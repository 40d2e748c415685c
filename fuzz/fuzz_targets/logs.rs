//! Logs of any bytes: nothing panics, every line is a request or is told why not, and a log that comes in pieces is the
//! same as the whole.
#![no_main]

use std::io::{self, Read};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tollgate::{Keyer, Origins, Prefixes, Quota, Source as From};
use tollgate_replay::{Entry, Eyes, FORMATS, Outcome, Owns, Policy, Reading, Replay, Source};

#[derive(Arbitrary, Debug)]
struct Input {
    /// One of the formats, or it is to be found out.
    format: u8,
    pieces: Vec<u8>,
    lines: Vec<Line>,
    trusts: bool,
}

#[derive(Arbitrary, Debug)]
enum Line {
    Bytes(Vec<u8>),
    /// A good line with something done to it.
    Changed {
        which: u8,
        second: u16,
        at: u16,
        byte: u8,
    },
}

/// A log in pieces of these lengths.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    lengths: Vec<u8>,
    turn: usize,
}

impl Read for Pieces {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let length = self
            .lengths
            .get(self.turn % self.lengths.len().max(1))
            .map_or(usize::MAX, |length| 1 + usize::from(*length));
        self.turn += 1;
        let rest = &self.bytes[self.at..];
        let length = length.min(rest.len()).min(room.len());
        room[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        Ok(length)
    }
}

const GOOD: [&str; 4] = [
    r#"198.18.0.1 - - [17/May/2015:10:MM:SS +0000] "GET /internal/a HTTP/1.1" 401 1 "-" "x\"y" "10.0.0.1, 198.18.0.9""#,
    r#"https 2015-05-17T10:MM:SS.1Z app/a 198.18.0.1:80 10.0.0.1:80 0 0 0 200 200 1 1 "GET http://a:80/b HTTP/1.1" "x" - -"#,
    r#"{"ts":"2015-05-17T10:MM:SSZ","request":{"remote_ip":"198.18.0.1","uri":"/a","headers":{"User-Agent":["x"]}},"status":200}"#,
    r#"{"time_iso8601":"2015-05-17T10:MM:SSZ","remote_addr":"198.18.0.1","request":"GET /a HTTP/1.1","status":"200"}"#,
];

fn log(lines: &[Line]) -> Vec<u8> {
    let mut log = Vec::new();
    for line in lines {
        match line {
            Line::Bytes(bytes) => log.extend(bytes),
            Line::Changed { which, second, at, byte } => {
                let (minute, second) = (second / 60 % 60, second % 60);
                let good = GOOD[usize::from(*which) % GOOD.len()];
                let mut line = good
                    .replace("MM", &format!("{minute:02}"))
                    .replace("SS", &format!("{second:02}"))
                    .into_bytes();
                if let Some(changed) = line.get_mut(usize::from(*at)) {
                    *changed = *byte;
                }
                log.extend(line);
            }
        }
        log.push(b'\n');
    }
    log
}

fn read(mut source: Source, eyes: &Eyes) -> (Vec<Entry>, Reading) {
    let entries = std::iter::from_fn(|| source.next(eyes)).collect();
    (entries, source.into_reading())
}

fuzz_target!(|input: Input| {
    let origins = if input.trusts {
        Origins::from_source(From::XForwardedFor).trust_hops(1).build().expect("it is a plain one")
    } else {
        Origins::peer()
    };
    let eyes = Eyes {
        origins,
        forwarded: input.trusts.then(|| "X-Forwarded-For".into()),
        owns: Owns::default(),
        internal: vec!["/internal/".into()],
        keyer: Keyer::new(*b"a seed for fuzz!"),
    };
    let format = FORMATS.get(usize::from(input.format));
    let log = log(&input.lines);
    let pieces = Pieces { bytes: log.clone(), at: 0, lengths: input.pieces, turn: 0 };
    let whole = read(Source::new("log".into(), Box::new(io::Cursor::new(log)), format, &eyes), &eyes);
    let (entries, reading) = read(Source::new("log".into(), Box::new(pieces), format, &eyes), &eyes);
    assert_eq!(whole.0, entries);
    assert_eq!(whole.1, reading);
    assert_eq!(reading.lines, reading.unparsed + reading.astray + entries.len() as u64);

    let policies =
        vec![Policy::new("few", Quota::per_minute(3)), Policy::new("even", Quota::per_second(1).burst(2))];
    let mut replay =
        Replay::new(policies, Prefixes::DEFAULT, &[], 4, eyes.keyer.clone()).expect("it can be enforced");
    for entry in &entries {
        replay.push(*entry);
    }
    replay.finish();
    let outcome = Outcome::new(&replay, vec![reading], "1%".parse().ok());
    assert_eq!(outcome.requests + outcome.late, entries.len() as u64);
    assert!(outcome.policies.iter().all(|policy| policy.refused <= outcome.requests));
});
