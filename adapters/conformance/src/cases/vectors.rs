//! The vectors of the core's `tests/vectors/origin.tsv`, over sockets.
//!
//! A socket's peer is a loopback address here, so each vector is played in one of three ways:
//!
//! - *In place*: the peer is an IPv4 address. The loopback address that ends in its last three octets stands for it: as the
//!   peer, among the trusted networks if it was trusted, and as the answer where the peer is the answer.
//! - *Mapped*: the peer is an IPv4 address in mapped notation. As in place, but the server listens on `::`, so that the
//!   peer reaches it in that very notation.
//! - *Behind a hop*: the peer is any other IPv6 address. One more trusted hop names it, as the last element of the list;
//!   the hop is the loopback address that the suite calls from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::json;
use tollgate_http::{GateBuilder, Quota, Source};

use crate::app::App;
use crate::case::cases;
use crate::request::Request;
use crate::stage::Stage;

const VECTORS: &str = include_str!("origin.tsv");

struct Vector {
    name: &'static str,
    source: Source,
    trusted: &'static str,
    peer: IpAddr,
    request: Request,
    caller: String,
    key: String,
}

fn vectors() -> Vec<Vector> {
    let vectors = VECTORS.lines().filter(|line| !line.starts_with('#')).skip(1).map(Vector::parse);
    vectors.collect()
}

impl Vector {
    fn parse(line: &'static str) -> Self {
        let columns: Vec<_> = line.split('\t').collect();
        let [name, source, trusted, peer, lines, caller, key] = columns[..] else {
            panic!("seven columns: {line}")
        };
        let source = match source {
            "peer" => Source::Peer,
            "xff" => Source::XForwardedFor,
            "forwarded" => Source::Forwarded,
            _ => Source::header(source.strip_prefix("header:").unwrap()),
        };
        let fields = lines.split(" || ").filter_map(|line| line.split_once(':'));
        let request = fields.fold(Request::get("/decision"), |request, (name, value)| {
            request.field(name, value.replace("\\t", "\t"))
        });
        Self {
            name,
            source,
            trusted,
            peer: peer.parse().unwrap(),
            request,
            caller: caller.into(),
            key: key.into(),
        }
    }

    /// The address to call from, as the vector is played.
    fn stand_in(&mut self) -> (Ipv4Addr, bool) {
        let (v4, is_mapped) = match self.peer {
            IpAddr::V4(v4) => (v4, false),
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => (v4, true),
                None => return (self.put_behind_a_hop(v6), false),
            },
        };
        let [_, b, c, d] = v4.octets();
        let stand_in = Ipv4Addr::new(127, b, c, d);
        if self.caller == v4.to_string() {
            (self.caller, self.key) = (stand_in.to_string(), format!("{stand_in}/32"));
        }
        (stand_in, is_mapped)
    }

    fn put_behind_a_hop(&mut self, peer: Ipv6Addr) -> Ipv4Addr {
        let name = if self.source == Source::Forwarded { "Forwarded" } else { "X-Forwarded-For" };
        let element =
            if self.source == Source::Forwarded { format!("for=\"[{peer}]\"") } else { peer.to_string() };
        self.request = self.request.clone().field(name, element);
        HOP
    }

    fn gate(&self, stage: &Stage, from: Ipv4Addr) -> GateBuilder {
        let gate = stage.gate(Quota::per_minute(1_000)).source(self.source.clone());
        if let Some(hops) = self.trusted.strip_prefix("hops=") {
            return gate.trust_hops(hops.parse().unwrap());
        }
        let trusted = self.trusted.split([',', ' ']).filter(|network| !matches!(*network, "" | "-"));
        let is_trusted =
            from == HOP || trusted.clone().any(|network| network.starts_with("10.") && self.is_ten());
        let gate = trusted.fold(gate, GateBuilder::trust_network);
        if is_trusted { gate.trust_network(from.to_string()) } else { gate }
    }

    /// Whether the peer is in 10.0.0.0/8, the one IPv4 network that the vectors trust.
    fn is_ten(&self) -> bool {
        matches!(self.peer.to_canonical(), IpAddr::V4(v4) if v4.octets()[0] == 10)
    }
}

/// The hop that names peers which no socket has here.
const HOP: Ipv4Addr = Ipv4Addr::new(127, 255, 255, 254);

cases! {
    /// Every vector of the caller's address gives the address and the key that it names. (abuse 4, 6, 9)
    async fn origin_vectors(stage) {
        let mut wrong = Vec::new();
        let mut played = [0; 3];
        for mut vector in vectors() {
            let (from, is_mapped) = vector.stand_in();
            played[if from == HOP { 2 } else { usize::from(is_mapped) }] += 1;
            let mut app: App = vector.gate(&stage, from).into();
            if is_mapped {
                app.listen = Ipv6Addr::UNSPECIFIED.into();
            }
            let server = stage.serve(app).await;
            let told = server.caller_from(from).send(&vector.request).await.json();
            if (&told["address"], &told["key"]) != (&json!(vector.caller), &json!(vector.key)) {
                wrong.push(format!("{}: {} as {}", vector.name, told["address"], told["key"]));
            }
        }
        assert_eq!(played, [57, 2, 2], "vectors in place, mapped, and behind a hop");
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
