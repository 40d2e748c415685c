//! Callers behind proxies. The trusted hop is the loopback address that the suite calls from.

use tollgate_http::{GateBuilder, Policy, Quota, Source};

use crate::case::cases;
use crate::request::Request;
use crate::stage::{Caller, Stage};

/// Five a minute for whom the loopback network names.
fn behind(stage: &Stage, source: Source) -> GateBuilder {
    stage.five().source(source).trust_network("127.0.0.0/8")
}

/// How many of these requests are admitted, all on one connection.
async fn admitted(caller: Caller, requests: impl Iterator<Item = Request>) -> usize {
    let mut connection = caller.connect().await;
    let mut admitted = 0;
    for request in requests {
        match connection.send(&request).await.status {
            200 => admitted += 1,
            status => assert_eq!(status, 429),
        }
    }
    admitted
}

fn xff(elements: impl AsRef<[u8]>) -> Request {
    Request::get("/").forwarded_for(elements)
}

cases! {
    /// A thousand made-up addresses to the left of the trusted hop's land in one budget. (abuse 1)
    async fn rotating_what_is_sent(stage) {
        let server = stage.serve(behind(&stage, Source::XForwardedFor)).await;
        let forged =
            (0..1_000).map(|number| xff(format!("203.0.{}.{}, 198.51.100.1", number / 256, number % 256)));
        assert_eq!(admitted(server.caller(1), forged).await, 5);
        assert_eq!(admitted(server.caller(1), [xff("198.51.100.2")].into_iter()).await, 1);
    }

    /// Without trust no field changes whose budget is used.
    async fn untrusted_fields_change_nothing(stage) {
        let server = stage.serve_five().await;
        let fields = [
            "X-Forwarded-For",
            "Forwarded",
            "X-Real-IP",
            "CF-Connecting-IP",
            "True-Client-IP",
            "X-Client-IP",
        ];
        let requests = fields.iter().cycle().zip(0..24).map(|(name, number)| {
            let value = if *name == "Forwarded" {
                format!("for=203.0.113.{number}")
            } else {
                format!("203.0.113.{number}")
            };
            Request::get("/").field(*name, value)
        });
        assert_eq!(admitted(server.caller(1), requests).await, 5);
    }

    /// A trusted network in mapped notation is the IPv4 network, and trusts no other. (abuse 2)
    async fn mapped_networks(stage) {
        let gate = stage.five().source(Source::XForwardedFor);
        let trusted = format!("::ffff:127.{}.0.0/112", stage.network);
        let server = stage.serve(gate.trust_network(trusted)).await;
        let forged = || (0..10).map(|number| xff(format!("203.0.113.{number}")));
        assert_eq!(admitted(server.caller(1), forged()).await, 10);
        assert_eq!(admitted(server.caller_from([127, 255, 0, 1].into()), forged()).await, 5);
    }

    /// One address has one budget, in whatever notation it is told. (abuse 3, 4, 6)
    async fn notations_share(stage) {
        let server = stage.serve(behind(&stage, Source::XForwardedFor)).await;
        let same = [
            "1.2.3.4",
            "::ffff:1.2.3.4",
            "::ffff:102:304",
            "64:ff9b::1.2.3.4",
            "1.2.3.4:80",
            "[::ffff:102:304]:80",
        ];
        let once = same.map(xff).into_iter();
        assert_eq!(admitted(server.caller(1), once).await, 5);
        let others = ["2001:db8::1.2.3.4", "::ffff:1.2.3.5", "64:ff9b::1.2.3.6"];
        assert_eq!(admitted(server.caller(1), others.map(xff).into_iter()).await, 3);
    }

    /// A thousand addresses of one /64 are one caller; another /64 is another. (abuse 5)
    async fn rotating_inside_a_64(stage) {
        let server = stage.serve(behind(&stage, Source::XForwardedFor)).await;
        let hosts = |net: &'static str| {
            (0..1_000).map(move |host| xff(format!("2001:db8:{net}:{host:x}::{host:x}:1")))
        };
        assert_eq!(
            admitted(server.caller(1), (0..1_000).map(|host| xff(format!("2001:db8:1:2::{host:x}")))).await,
            5
        );
        assert_eq!(admitted(server.caller(1), hosts("7").take(20)).await, 20);
    }

    /// Zone ids, ports and brackets give the bare address, and nothing that is sent breaks anything. (abuse 6, 26)
    async fn odd_elements(stage) {
        let server = stage.serve(behind(&stage, Source::XForwardedFor)).await;
        let caller = server.caller(1);
        let seen = async |element: &[u8]| {
            let request = Request::get("/decision").forwarded_for(element).field("x-skip", "1");
            caller.send(&request).await
        };
        let told = seen(b"[fe80::1%eth0]:443").await.json();
        assert_eq!((&told["address"], &told["key"]), (&"fe80::1".into(), &"fe80::/64".into()));
        for odd in [
            &b"[::1"[..],
            b"]",
            b"[]:1",
            b"%",
            b"1.2.3.4:",
            b":::",
            b"\xff",
            b"[fe80::1%]:99999",
            b"\"",
            b",",
        ] {
            let reply = seen(odd).await;
            assert!(matches!(reply.status, 200 | 429), "{reply:?}");
            stage.pass(60.0);
        }
    }

    /// Several lines of a field are one list. (abuse 7)
    async fn several_lines(stage) {
        let server = stage.serve(behind(&stage, Source::XForwardedFor)).await;
        let forged = (0..50).map(|number| xff(format!("203.0.113.{number}")).forwarded_for("198.51.100.1"));
        assert_eq!(admitted(server.caller(1), forged).await, 5);
        let forged =
            (0..50).map(|number| xff(format!("203.0.113.{number}")).forwarded_for("198.51.100.2, 127.0.0.9"));
        assert_eq!(admitted(server.caller(1), forged).await, 5);
    }

    /// Names with `_` or `.` are other fields. (abuse 8)
    async fn aliases_of_the_source(stage) {
        let server = stage.serve(behind(&stage, Source::XForwardedFor)).await;
        let names =
            ["X_Forwarded_For", "X.Forwarded.For", "X-Forwarded_For", "XForwardedFor", "X-Forwarded-For-"];
        let forged = names
            .iter()
            .cycle()
            .zip(0..25)
            .map(|(name, number)| Request::get("/").field(*name, format!("203.0.113.{number}")));
        assert_eq!(admitted(server.caller(1), forged).await, 5);
    }

    /// A quote that the client leaves open can't swallow what the hop adds. (abuse 9)
    async fn open_quotes(stage) {
        let server = stage.serve(behind(&stage, Source::Forwarded)).await;
        let forged = (0..50).map(|number| {
            let value = format!("for=\"203.0.113.{number}, for=_x{number};host=\"a, for=198.51.100.1");
            Request::get("/").field("Forwarded", value)
        });
        assert_eq!(admitted(server.caller(1), forged).await, 5);
    }

    /// Silence and garbage share the budget of the hop that passed them on. (abuse 10)
    async fn garbage_has_no_budget(stage) {
        let server = stage.serve(behind(&stage, Source::XForwardedFor)).await;
        let garbage =
            ["unknown", "_hidden", "198.51.100.256", "", "localhost", "1.2.3", "0x7f.1", "1.2.3.4.5", "-"];
        let requests = std::iter::once(Request::get("/")).chain(garbage.map(xff));
        assert_eq!(admitted(server.caller(1), requests).await, 5);
    }

    /// A field of one address is believed once, and from the proxy alone.
    async fn a_field_of_one_address(stage) {
        let source = Source::header("CF-Connecting-IP");
        let trusted = format!("127.{}.0.1", stage.network);
        let server = stage.serve(stage.five().source(source).trust_network(trusted)).await;
        let with = |number: u8| Request::get("/").field("cf-connecting-ip", format!("203.0.113.{number}"));
        assert_eq!(admitted(server.caller(1), (0..10).map(with)).await, 10);
        let twice = (0..10).map(|number| with(number).field("cf-connecting-ip", "1.1.1.1"));
        assert_eq!(admitted(server.caller(1), twice).await, 5);
        assert_eq!(admitted(server.caller(2), (20..30).map(with)).await, 5);
    }

    /// 48 KiB of commas, quotes or brackets are answered like anything else. (abuse 24)
    async fn long_fields(stage) {
        for source in [Source::XForwardedFor, Source::Forwarded] {
            let server = stage.serve(behind(&stage, source.clone())).await;
            let name = if source == Source::Forwarded { "Forwarded" } else { "X-Forwarded-For" };
            let trusted = format!("{}, ", server.caller(1).address);
            let long = [",", "\"", "[", "\\", "a", &trusted, "for=\"\\\","];
            let requests = long.map(|part| Request::get("/").field(name, part.repeat(49_152 / part.len())));
            assert_eq!(admitted(server.caller(1), requests.into_iter()).await, 5);
        }
    }

    /// Prefixes that are set apply, and a policy can hold a larger network beside.
    async fn prefixes(stage) {
        let gate = behind(&stage, Source::XForwardedFor).v4_prefix(24).v6_prefix(56);
        let server = stage.serve(gate.policy(Policy::new("net", Quota::per_minute(12)).v4_prefix(16))).await;
        let host = |net: u8| move |host: u8| xff(format!("203.0.{net}.{host}"));
        assert_eq!(admitted(server.caller(1), (0..20).map(host(1))).await, 5);
        assert_eq!(admitted(server.caller(1), (0..20).map(host(2))).await, 5);
        assert_eq!(admitted(server.caller(1), (0..20).map(host(3))).await, 2);
        let v6 = |net: u16| xff(format!("2001:db8:0:{net:x}::1"));
        assert_eq!(admitted(server.caller(1), (0..20).map(v6)).await, 5);
    }

    /// By hops: so many are trusted whatever their addresses, and what is left of them changes nothing.
    async fn hops(stage) {
        let server = stage.serve(stage.five().source(Source::XForwardedFor).trust_hops(2)).await;
        let forged = (0..50).map(|number| xff(format!("203.0.113.{number}, 198.51.100.1, 10.0.0.{number}")));
        assert_eq!(admitted(server.caller(1), forged).await, 5);
    }
}
