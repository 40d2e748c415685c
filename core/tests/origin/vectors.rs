//! `tests/vectors/origin.tsv`, each line of it.

use std::net::IpAddr;

use tollgate::{Origins, Source};

const VECTORS: &str = include_str!("../vectors/origin.tsv");

#[test]
fn all_vectors() {
    let vectors: Vec<_> =
        VECTORS.lines().filter(|line| !line.starts_with('#')).skip(1).map(Vector::parse).collect();
    assert_eq!(vectors.len(), 61);
    let mut failed = 0;
    for Vector { name, origins, peer, lines, caller, key } in vectors {
        let found = origins.origin(peer, lines.iter().map(String::as_bytes));
        if (found.address(), found.to_string()) != (caller, key.to_string()) {
            failed += 1;
            println!("FAILED: {name}: found {} as {found}, not {caller} as {key}", found.address());
        }
    }
    assert_eq!(failed, 0, "vectors failed, see above");
}

struct Vector {
    name: &'static str,
    origins: Origins,
    peer: IpAddr,
    lines: Vec<String>,
    caller: IpAddr,
    key: &'static str,
}

impl Vector {
    fn parse(line: &'static str) -> Self {
        let columns: Vec<_> = line.split('\t').collect();
        let [name, source, trusted, peer, lines, caller, key] = columns[..] else {
            panic!("seven columns: {line}")
        };
        let (source, field) = match source {
            "peer" => (Source::Peer, ""),
            "xff" => (Source::XForwardedFor, "X-Forwarded-For"),
            "forwarded" => (Source::Forwarded, "Forwarded"),
            _ => (Source::Header, source.strip_prefix("header:").unwrap()),
        };
        let origins = Origins::from_source(source);
        let origins = match trusted.strip_prefix("hops=") {
            _ if trusted == "-" => origins,
            Some(hops) => origins.trust_hops(hops.parse().unwrap()),
            None => trusted
                .split([',', ' '])
                .filter(|network| !network.is_empty())
                .fold(origins, |origins, network| origins.trust_network(network.parse().unwrap())),
        };
        let lines = lines
            .split(" || ")
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| name.eq_ignore_ascii_case(field))
            .map(|(_, value)| value.replace("\\t", "\t"))
            .collect();
        Self {
            name,
            origins: origins.build().unwrap(),
            peer: peer.parse().unwrap(),
            lines,
            caller: caller.parse().unwrap(),
            key,
        }
    }
}
