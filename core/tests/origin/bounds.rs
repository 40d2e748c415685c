//! Abuse 24: however long a field is, only its end is looked at. (What that costs is measured in `benches`.)

use std::net::IpAddr;

use tollgate::{Origins, Source};

/// What is looked at, in bytes.
const MOST: usize = 16 << 10;

fn found(source: Source, lines: &[&[u8]]) -> String {
    let proxy: IpAddr = "10.0.0.1".parse().unwrap();
    let origins: Origins =
        Origins::from_source(source).trust_network("10.0.0.0/8".parse().unwrap()).build().unwrap();
    origins.origin(proxy, lines.iter().copied()).address().to_string()
}

#[test]
fn empty_elements_count_towards_the_32() {
    let after = |commas: usize| format!("198.51.100.1{}", ",".repeat(commas));
    assert_eq!(found(Source::XForwardedFor, &[after(31).as_bytes()]), "198.51.100.1");
    assert_eq!(found(Source::XForwardedFor, &[after(32).as_bytes()]), "10.0.0.1");
    let lines = |empty: usize| [vec![&b"for=198.51.100.1"[..]], vec![&b" "[..]; empty]].concat();
    assert_eq!(found(Source::Forwarded, &lines(31)), "198.51.100.1");
    assert_eq!(found(Source::Forwarded, &lines(32)), "10.0.0.1");
}

#[test]
fn bytes_beyond_16_kib_are_not_looked_at() {
    let caller = "for=198.51.100.1";
    let padded = |length: usize| format!("{caller};host=\"{}\"", "a".repeat(length - caller.len() - 8));
    for (length, is) in [(MOST, "198.51.100.1"), (MOST + 1, "10.0.0.1")] {
        assert_eq!(padded(length).len(), length);
        assert_eq!(found(Source::Forwarded, &[padded(length).as_bytes()]), is);
        // What is left of an element does not count against it.
        let prefixed = format!("{},{}", "x".repeat(MOST), padded(length - 1));
        assert_eq!(found(Source::Forwarded, &[prefixed.as_bytes()]), is);
        // Nor does it matter how many lines there are.
        let (left, right) =
            (padded(length - 1000), format!("for=10.0.0.2;host=\"{}\"", "b".repeat(1000 - 20)));
        assert_eq!(
            (left.len() + right.len(), found(Source::Forwarded, &[b"x", left.as_bytes(), right.as_bytes()])),
            (length, if is == "10.0.0.1" { "10.0.0.2" } else { is }.to_owned())
        );
    }
}

#[test]
fn nor_is_a_header_of_one_address_if_it_is_longer() {
    let padded = |length: usize| format!("{:>length$}", "198.51.100.1");
    assert_eq!(found(Source::Header, &[padded(MOST).as_bytes()]), "198.51.100.1");
    assert_eq!(found(Source::Header, &[padded(MOST + 1).as_bytes()]), "10.0.0.1");
}

/// An address that is cut is not taken for a shorter one.
#[test]
fn an_element_that_is_cut_is_no_address() {
    let trusted = ", 10.0.0.2";
    for cut in 0..24 {
        let line =
            format!("{}198.51.100.1{}{trusted}", "1".repeat(100), " ".repeat(MOST - trusted.len() - cut));
        assert_eq!(found(Source::XForwardedFor, &[line.as_bytes()]), "10.0.0.2", "{cut}");
    }
}

#[test]
fn hostile_fields_are_garbage() {
    for unit in
        [",", "\"", "\\", "\\\"", "=\"", "a", "[", ";", "for=", " ", "a=b;", "for=\"", "\\\\\"", "a=\"b\";"]
    {
        let field = unit.repeat((64 << 10) / unit.len());
        for source in [Source::XForwardedFor, Source::Forwarded, Source::Header] {
            assert_eq!(found(source, &[field.as_bytes()]), "10.0.0.1", "{source:?} {unit}");
        }
    }
    let field = ", 10.0.0.1".repeat(6_553);
    assert_eq!(found(Source::XForwardedFor, &[field.as_bytes()]), "10.0.0.1");
}
