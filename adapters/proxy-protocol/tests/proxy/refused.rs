//! What a trusted peer may not send.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::time::Instant;
use tollgate_proxy_protocol::{HandshakeError, ProxyProtocol};

use crate::support::{PROXY, SIGNATURE, TCP4, accept, addresses, peer, proxies, v1_from, v2};

#[tokio::test]
async fn no_header_is_noticed_at_the_first_byte_that_differs() {
    for sent in ["G", "GET / HTTP/1.1\r\n\r\n", "proxy TCP4 ", "PROXY\t", "PROXX", "\r\n\r\nGET /", " PROXY "]
    {
        assert!(matches!(accept(sent.as_bytes()).await, Err(HandshakeError::Missing)), "{sent:?}");
        // Without the connection's end, too.
        let (mut client, stream) = duplex(64);
        client.write_all(sent.as_bytes()).await.unwrap();
        assert!(matches!(proxies().accept(stream, peer()).await, Err(HandshakeError::Missing)), "{sent:?}");
    }
}

#[tokio::test]
async fn malformed_headers_are_refused() {
    let source = addresses("203.0.113.7:1".parse().unwrap());
    let lines = [
        "TCP4",
        "TCP4 ",
        "TCP4 1.2.3.4 5.6.7.8 1",
        "TCP4 1.2.3.4 5.6.7.8 1 2 3",
        "TCP4 1.2.3.4 5.6.7.8 1 2 ",
        "TCP4  1.2.3.4 5.6.7.8 1 2",
        "TCP4 01.2.3.4 5.6.7.8 1 2",
        "TCP4 1.2.3 5.6.7.8 1 2",
        "TCP4 ::1 ::2 1 2",
        "TCP4 1.2.3.4 5.6.7.8 +1 2",
        "TCP4 1.2.3.4 5.6.7.8 1 02",
        "TCP4 1.2.3.4 5.6.7.8 1 65536",
        "TCP4 1.2.3.4 5.6.7.8 1 -2",
        "TCP4 1.2.3.4 5.6.7.8 1 2\r",
        "TCP4 1.2.3.4 5.6.7.8\r1 2",
        "TCP6 1.2.3.4 5.6.7.8 1 2",
        "TCP6 fe80::1%eth0 ::2 1 2",
        "TCP6 ::g ::2 1 2",
        "UDP4 1.2.3.4 5.6.7.8 1 2",
        "tcp4 1.2.3.4 5.6.7.8 1 2",
        "UNKNOWNS",
        "UNKNOWN\t1",
        "UNKNOWN\r1",
        "",
        " TCP4 1.2.3.4 5.6.7.8 1 2",
    ];
    let mut headers: Vec<Vec<u8>> =
        lines.iter().map(|line| format!("PROXY {line}\r\n").into_bytes()).collect();
    headers.extend([
        b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n".to_vec(),
        b"PROXY UNKNOWN\n".to_vec(),
        v2(0x22, TCP4, &source),
        v2(0x11, TCP4, &source),
        v2(0x31, TCP4, &source),
        v2(PROXY, TCP4, &source[..11]),
        v2(PROXY, TCP4, b""),
        v2(PROXY, 0x21, &source),
        v2(PROXY, 0x31, &[0; 215]),
        v2(PROXY, 0x13, &source),
        v2(PROXY, 0x10, &source),
        v2(PROXY, 0x01, &source),
        v2(PROXY, 0x41, &source),
    ]);
    for header in headers {
        // What follows makes nothing whole.
        for sent in [header.clone(), [&header[..], &[0; 300]].concat()] {
            assert!(matches!(accept(&sent).await, Err(HandshakeError::Malformed)), "{header:?}");
        }
    }
}

#[tokio::test]
async fn a_header_has_a_longest_length() {
    let line = format!("PROXY UNKNOWN {}\r\n", "f".repeat(108 - 16));
    assert!(matches!(accept(line.as_bytes()).await, Err(HandshakeError::TooLong { longest: 107 })));
    let unended = format!("PROXY UNKNOWN {}", "f".repeat(1000));
    assert!(matches!(accept(unended.as_bytes()).await, Err(HandshakeError::TooLong { longest: 107 })));
    // The length alone is enough to refuse it.
    for length in [4081_u16, u16::MAX] {
        let begin = [SIGNATURE, &[PROXY, TCP4], &length.to_be_bytes()].concat();
        assert!(matches!(accept(&begin).await, Err(HandshakeError::TooLong { longest: 4096 })));
    }
}

#[tokio::test]
async fn a_connection_that_ends_too_soon_is_refused() {
    let source = "203.0.113.7:1".parse().unwrap();
    for header in [v1_from(source), v2(PROXY, TCP4, &addresses(source))] {
        for end in 0..header.len() {
            let error = accept(&header[..end]).await.unwrap_err();
            assert!(matches!(error, HandshakeError::Ended { received } if received == end), "{end}: {error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_or_slow_peer_is_given_up_at_the_deadline() {
    let header = v1_from("203.0.113.7:1".parse().unwrap());
    for sent in [0, 1, header.len() - 1] {
        let (mut client, stream) = duplex(256);
        client.write_all(&header[..sent]).await.unwrap();
        let began = Instant::now();
        let error = proxies().accept(stream, peer()).await.unwrap_err();
        assert!(
            matches!(error, HandshakeError::Late { deadline } if deadline == Duration::from_secs(5)),
            "{error}"
        );
        assert!(error.to_string().contains("within 5s"));
        assert!((Duration::from_secs(5)..Duration::from_millis(5010)).contains(&began.elapsed()));
        // And its connection is closed.
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn each_byte_buys_no_more_time() {
    let header = v1_from("203.0.113.7:1".parse().unwrap());
    let (mut client, stream) = duplex(256);
    let patient = ProxyProtocol::builder().trust_network("10.0.0.0/8").deadline(Duration::from_secs(20));
    let patient = patient.build().unwrap();
    let accepting = tokio::spawn(async move {
        let began = Instant::now();
        (patient.accept(stream, peer()).await.unwrap_err(), began.elapsed())
    });
    tokio::task::yield_now().await;
    for byte in header {
        // In two steps, since a timer may be a millisecond late.
        for _ in 0..2 {
            tokio::time::advance(Duration::from_millis(500)).await;
        }
        if client.write_all(&[byte]).await.is_err() {
            break;
        }
    }
    let (error, took) = accepting.await.unwrap();
    assert!(matches!(error, HandshakeError::Late { .. }), "{error}");
    assert_eq!(took.as_secs(), 20);
}
