//! Lines a second on one core: parsing alone, and all that a replay does with two policies.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tollgate::{Keyer, Origins, Prefixes, Quota};
use tollgate_replay::{Eyes, Format, Owns, Parser, Policy, Replay, Source, Wanted};

const LINES: u64 = 200_000;

/// Combined lines of 20,000 callers, 2,000 a second, of 200 bytes and more.
fn log() -> &'static [u8] {
    let mut log = String::new();
    for line in 0..LINES {
        let (caller, second) = (line * 7_919 % 20_000, line / 2_000);
        let _ = writeln!(
            log,
            "203.{}.{}.{} - - [17/May/2015:10:{:02}:{:02} +0000] \"GET /presentations/{caller}/page-{line}.html HTTP/1.1\" 200 {} \
             \"https://site.example/presentations/{caller}/\" \"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_{}) \
             AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0.1700.77 Safari/537.36\"",
            caller / 65_536,
            caller / 256 % 256,
            caller % 256,
            second / 60,
            second % 60,
            line % 100_000,
            caller % 10,
        );
    }
    log.leak().as_bytes()
}

fn lines(criterion: &mut Criterion) {
    let log = log();
    let eyes = Eyes {
        origins: Origins::peer(),
        forwarded: None,
        owns: Owns::default(),
        internal: vec!["/internal/".into()],
        keyer: Keyer::new(*b"a seed for bench"),
    };
    let mut group = criterion.benchmark_group("combined");
    group.throughput(Throughput::Elements(LINES)).sample_size(10);
    group.bench_function("parse", |bencher| {
        let lines: Vec<&[u8]> = log.split(|byte| *byte == b'\n').collect();
        let mut parser = Parser::new(Format::Combined, Wanted::default());
        bencher.iter(|| lines.iter().filter(|line| parser.parse(black_box(line)).is_ok()).count());
    });
    group.bench_function("replay", |bencher| {
        bencher.iter(|| {
            let policies = [Quota::per_minute(300), Quota::per_minute(20).sliding()];
            let policies = policies.map(|quota| Policy::new(format!("{quota:?}"), quota)).to_vec();
            let keyer = eyes.keyer.clone();
            let Ok(mut replay) = Replay::new(policies, Prefixes::DEFAULT, &[], 1 << 20, keyer) else {
                return None;
            };
            let mut source = Source::new("log".into(), Box::new(black_box(log)), None, &eyes);
            while let Some(entry) = source.next(&eyes) {
                replay.push(entry);
            }
            replay.finish();
            Some(replay)
        });
    });
    group.finish();
}

criterion_group!(benches, lines);
criterion_main!(benches);
