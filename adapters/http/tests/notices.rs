//! What the log says about proxies. One test in a program of its own, since each notice is given once in a process.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod log;

use tollgate_http::{Gate, Quota, Source};

use log::Log;

const SECRET: &str = "the-edge-s-secret-of-32-bytes...";
const FORWARDED: [(&str, &str); 1] = [("X-Forwarded-For", "198.51.100.1")];

fn request(gate: &Gate, peer: &str, fields: &[(&str, &str)]) {
    assert!(gate.decide(peer.parse().ok(), fields).unwrap().passes());
}

// Abuse 1, 10: one budget for all callers behind a proxy, or a header that no proxy sets, is not passed over in silence.
#[test]
fn a_source_that_does_not_fit_is_told_once() {
    let log = Log::begin();
    let gate = || Gate::builder(Quota::per_minute(10_000));

    let direct = gate().build().unwrap();
    request(&direct, "203.0.113.7", &FORWARDED);
    request(&direct, "127.0.0.1", &[]);
    assert_eq!(
        log.take(),
        [""; 0],
        "a client may send what it likes, and a neighbour may come without a proxy"
    );
    request(&direct, "127.0.0.1", &FORWARDED);
    let [notice] = &log.take()[..] else { panic!("one notice") };
    for part in ["every caller behind this proxy shares one budget", "x-forwarded-for", "trust_network"] {
        assert!(notice.contains(part), "{notice} does not say {part}");
    }
    request(&direct, "127.0.0.1", &FORWARDED);
    request(&gate().build().unwrap(), "::ffff:10.0.0.1", &FORWARDED);
    assert_eq!(log.take(), [""; 0], "it was told");

    let behind = || gate().source(Source::XForwardedFor).trust_network("10.0.0.0/8").build().unwrap();
    let seen = behind();
    request(&seen, "10.0.0.1", &FORWARDED);
    (0..2000).for_each(|_| request(&seen, "10.0.0.1", &[]));
    assert_eq!(log.take(), [""; 0], "the proxy sets the header");
    // The proxy's own address is not among the trusted ones.
    let wrong = behind();
    request(&wrong, "203.0.113.7", &FORWARDED);
    assert_eq!(log.take(), [""; 0], "a stranger may send what it likes");
    request(&wrong, "192.168.0.1", &FORWARDED);
    let [notice] = &log.take()[..] else { panic!("one notice") };
    assert!(
        notice.contains("that is not trusted") && notice.contains("check the trusted networks"),
        "{notice}"
    );
    // Own services may come without the proxy.
    let internal = gate().source(Source::XForwardedFor).trust_network("10.0.0.0/8").service("edge", SECRET);
    let internal = internal.build().unwrap();
    (0..2000).for_each(|_| request(&internal, "10.0.0.1", &[("x-internal-token", SECRET)]));
    assert_eq!(log.take(), [""; 0]);
    let unseen = behind();
    (0..999).for_each(|_| request(&unseen, "10.0.0.1", &[("forwarded", "for=198.51.100.1")]));
    assert_eq!(log.take(), [""; 0], "999 requests");
    request(&unseen, "10.0.0.1", &[]);
    let [notice] = &log.take()[..] else { panic!("one notice") };
    assert!(notice.contains("none of the first 1000 counted requests carried it"), "{notice}");
    assert!(notice.contains("x-forwarded-for"), "{notice}");
    let other = behind();
    (0..2000).for_each(|_| request(&other, "10.0.0.1", &[]));
    request(&unseen, "10.0.0.1", &[]);
    assert_eq!(log.take(), [""; 0], "it was told");
}
