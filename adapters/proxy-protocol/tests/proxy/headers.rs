//! Who is calling.

use std::io::IoSlice;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};
use tollgate_proxy_protocol::Proxied;

use crate::support::{
    LOCAL, PROXY, TCP4, TCP6, accept, addresses, holding, peer, proxies, v1_from, v2, v2_from,
};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

fn callers() -> [SocketAddr; 3] {
    ["203.0.113.7:40000", "[2001:db8::7]:65535", "[::ffff:198.51.100.2]:1"].map(|text| text.parse().unwrap())
}

fn longest_unknown() -> Vec<u8> {
    let line = format!("PROXY UNKNOWN {}\r\n", "f".repeat(107 - 16));
    assert_eq!(line.len(), 107);
    line.into_bytes()
}

#[tokio::test]
async fn the_source_is_the_caller() {
    for caller in callers() {
        for header in [v1_from(caller), v2_from(caller, b"")] {
            let (told, body) = accept(&[&header[..], REQUEST].concat()).await.unwrap();
            assert_eq!((told, &body[..]), (caller, REQUEST), "{header:?}");
        }
    }
}

#[tokio::test]
async fn a_header_may_come_byte_by_byte() {
    let longest = [(peer(), longest_unknown())];
    let others =
        callers().map(|caller| [(caller, v1_from(caller)), (caller, v2_from(caller, &[4, 0, 2, 0, 0]))]);
    for (caller, header) in others.into_iter().flatten().chain(longest) {
        // The pipe holds one byte, so each read gets one.
        let (mut client, stream) = duplex(1);
        let sender = tokio::spawn(async move {
            client.write_all(&header).await.unwrap();
            client.write_all(REQUEST).await.unwrap();
        });
        let (mut stream, told) = proxies().accept(stream, peer()).await.unwrap();
        assert_eq!(told, caller);
        let mut body = Vec::new();
        stream.read_to_end(&mut body).await.unwrap();
        assert_eq!(body, REQUEST);
        sender.await.unwrap();
    }
}

#[tokio::test]
async fn little_is_read_beyond_a_header_and_nothing_beyond_version_2() {
    let [caller, ..] = callers();
    for (header, beyond) in [
        (b"PROXY UNKNOWN\r\n".to_vec(), 1),
        (b"PROXY UNKNOWN \r\n".to_vec(), 0),
        (b"PROXY UNKNOWN 1\r\n".to_vec(), 90),
        (longest_unknown(), 0),
        (v2_from(caller, b""), 0),
        (v2(LOCAL, 0, b""), 0),
    ] {
        let sent = [&header[..], &[b'a'; 1000]].concat();
        let (stream, _) = proxies().accept(holding(&sent).await, peer()).await.unwrap();
        assert_eq!(stream.into_parts().0.len(), beyond, "{header:?}");
    }
}

#[tokio::test]
async fn fields_behind_the_addresses_are_skipped() {
    let [caller, ..] = callers();
    // A unique id, then bytes that are no field at all, up to the longest header that is read.
    let id = [&[5, 0, 3][..], b"abc"].concat();
    for more in [id, vec![0xff; 2], vec![7; 4096 - 28]] {
        let (told, body) = accept(&[&v2_from(caller, &more)[..], REQUEST].concat()).await.unwrap();
        assert_eq!((told, &body[..]), (caller, REQUEST));
    }
}

#[tokio::test]
async fn without_a_source_the_socket_is_the_caller() {
    let [v4, v6, _] = callers();
    for header in [
        b"PROXY UNKNOWN\r\n".to_vec(),
        b"PROXY UNKNOWN 203.0.113.7 192.0.2.1 1 2\r\n".to_vec(),
        b"PROXY UNKNOWN anything \xff at all\r\n".to_vec(),
        longest_unknown(),
        v2(LOCAL, 0, b""),
        v2(LOCAL, TCP4, &addresses(v4)),
        v2(LOCAL, TCP6, &addresses(v6)),
        // The family of a local connection is not looked at, nor what it would need.
        v2(LOCAL, TCP4, b""),
        v2(LOCAL, 0xff, b"nothing"),
        v2(PROXY, 0, b""),
        v2(PROXY, 0, &addresses(v4)),
        v2(PROXY, 0x31, &[b'/'; 216]),
        v2(PROXY, 0x32, &[0; 216]),
    ] {
        let (told, body) = accept(&[&header[..], REQUEST].concat()).await.unwrap();
        assert_eq!((told, &body[..]), (peer(), REQUEST), "{header:?}");
    }
}

#[tokio::test]
async fn an_untrusted_peer_is_not_believed() {
    let sent = [&v1_from(callers()[0])[..], REQUEST].concat();
    for text in ["11.0.0.1:9", "[::ffff:11.0.0.1]:9", "[2001:db8::a00:1]:9", "[::a01:203]:9"] {
        let stranger = text.parse().unwrap();
        assert!(!proxies().trusts(SocketAddr::ip(&stranger)));
        let (mut stream, told) = proxies().accept(holding(&sent).await, stranger).await.unwrap();
        assert_eq!(told, stranger);
        let mut body = Vec::new();
        stream.read_to_end(&mut body).await.unwrap();
        assert_eq!(body, sent);
    }
}

#[tokio::test]
async fn a_mapped_peer_is_in_its_ipv4_network() {
    for text in ["[::ffff:10.1.2.3]:9", "[::ffff:a01:203]:9"] {
        let header = v1_from(callers()[0]);
        let (_, told) = proxies().accept(holding(&header).await, text.parse().unwrap()).await.unwrap();
        assert_eq!(told, callers()[0]);
    }
}

#[tokio::test]
async fn a_stream_can_be_had_back_with_what_was_read_ahead() {
    let header = v1_from(callers()[0]);
    let (mut stream, _) =
        proxies().accept(holding(&[&header[..], b"abcdef"].concat()).await, peer()).await.unwrap();
    let mut two = [0; 2];
    stream.read_exact(&mut two).await.unwrap();
    assert_eq!(&two, b"ab");
    let (ahead, _) = stream.into_parts();
    assert_eq!(ahead, b"cdef");
}

#[tokio::test]
async fn writes_pass_as_they_are() {
    let (mut client, stream) = duplex(64);
    let mut stream = Proxied::new(stream);
    assert!(stream.is_write_vectored());
    stream.write_all(b"one").await.unwrap();
    let slices = [IoSlice::new(b"two"), IoSlice::new(b"three")];
    assert_eq!(stream.write_vectored(&slices).await.unwrap(), 8);
    stream.flush().await.unwrap();
    stream.shutdown().await.unwrap();
    let mut got = Vec::new();
    client.read_to_end(&mut got).await.unwrap();
    assert_eq!(got, b"onetwothree");
}
