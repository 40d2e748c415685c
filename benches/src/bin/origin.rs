//! What finding the caller costs, with the chains that proxies send and with 64 KiB of whatever makes a parser slow. With
//! `--test`, one short round that is not judged.

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Instant;

use benches::Report;
use tollgate::{Origins, Source};

/// The slowest that a field may be, in nanoseconds.
const MOST: u64 = 100_000;
const HOSTILE: usize = 64 << 10;
const ROUNDS: usize = 25;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let test = env::args().any(|argument| argument == "--test");
    let proxy: IpAddr = "10.0.0.1".parse()?;
    let mut report = Report::new("ns to find the caller, median of the rounds");
    for (name, source, lines) in fields() {
        let origins = match source {
            Source::Peer => Origins::peer(),
            _ => Origins::<64>::from_source(source).trust_network("10.0.0.0/8".parse()?).build()?,
        };
        let find = || black_box(origins.origin(proxy, black_box(&lines).iter().map(Vec::as_slice)));
        let spans = if test { vec![span(1, find)] } else { sorted((0..ROUNDS).map(|_| span(2_000, find))) };
        let median = spans.get(spans.len() / 2).copied().unwrap_or(u64::MAX);
        if test {
            report.told(&name, &median.to_string());
        } else {
            report.held(&name, &median.to_string(), &format!("<= {MOST}"), median <= MOST);
        }
    }
    Ok(report.print())
}

/// Of one call, in nanoseconds.
fn span<T>(calls: u32, find: impl Fn() -> T) -> u64 {
    let from = Instant::now();
    for _ in 0..calls {
        find();
    }
    let spent = from.elapsed() / calls;
    u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX)
}

fn sorted(spans: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut spans: Vec<u64> = spans.collect();
    spans.sort_unstable();
    spans
}

fn fields() -> Vec<(String, Source, Vec<Vec<u8>>)> {
    let one_line = |text: &str| vec![text.as_bytes().to_vec()];
    let mut fields = vec![
        ("no header".into(), Source::XForwardedFor, Vec::new()),
        ("the peer alone".into(), Source::Peer, Vec::new()),
        ("X-Forwarded-For, one element".into(), Source::XForwardedFor, one_line("198.51.100.1")),
        (
            "X-Forwarded-For, five elements".into(),
            Source::XForwardedFor,
            one_line("198.51.100.1, 10.0.0.5, 10.0.0.4, 10.0.0.3, 10.0.0.2"),
        ),
        (
            "X-Forwarded-For, IPv6 with port".into(),
            Source::XForwardedFor,
            one_line("[2001:db8:1:2:3::4]:443"),
        ),
        (
            "Forwarded, one element".into(),
            Source::Forwarded,
            one_line("for=198.51.100.1;proto=https;by=10.0.0.1"),
        ),
        (
            "Forwarded, five elements".into(),
            Source::Forwarded,
            one_line(
                "for=198.51.100.1, for=10.0.0.5, for=\"10.0.0.4:80\", for=10.0.0.3;host=\"a,b\", for=10.0.0.2",
            ),
        ),
        ("one header, one address".into(), Source::Header, one_line("198.51.100.1")),
    ];
    for unit in [
        ",",
        "\"",
        "\\",
        "\\\"",
        "\\\\\"",
        "a",
        "[",
        ";",
        " ",
        "=\"",
        "a=b;",
        "a=\"b\";",
        ", 10.0.0.1",
        ", for=10.0.0.1",
        ", for=10.0.0.1;a=\"\\\"\\\"\\\"\"",
    ] {
        let field = unit.repeat(HOSTILE / unit.len());
        for source in [Source::XForwardedFor, Source::Forwarded, Source::Header] {
            fields.push((format!("64 KiB of {unit:?}, {source:?}"), source, one_line(&field)));
        }
    }
    // Well-formed all the way, so that nothing ends the search early.
    for (what, unit) in [
        ("one string", "a"),
        ("one string of escaped quotes", "\\\""),
        ("one string of escaped backslashes", "\\\\"),
        ("one string of commas", ","),
    ] {
        let field = format!("for=10.0.0.2;host=\"{}\"", unit.repeat(HOSTILE / unit.len()));
        fields.push((format!("64 KiB, {what}, Forwarded"), Source::Forwarded, one_line(&field)));
    }
    for (what, first, unit) in [
        ("pairs", "for=10.0.0.2", ";a=b"),
        ("one name", "for=10.0.0.2;", "a"),
        ("blank pairs", "for=10.0.0.2", " ;"),
    ] {
        // Just within what is looked at.
        let field = [first, &unit.repeat((16_000 - first.len()) / unit.len()), "=a"].concat();
        fields.push((format!("16 KB, {what}, Forwarded"), Source::Forwarded, one_line(&field)));
    }
    for (what, line) in [("empty lines", ""), ("lines of one address", "10.0.0.2")] {
        fields.push((format!("10,000 {what}"), Source::XForwardedFor, vec![line.into(); 10_000]));
    }
    fields
}
