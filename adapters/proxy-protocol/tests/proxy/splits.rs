//! Properties: how bytes are cut into reads changes nothing, and no bytes panic.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use proptest::collection::vec;
use proptest::prelude::*;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tollgate_proxy_protocol::HandshakeError;

use crate::support::{PROXY, SIGNATURE, peer, proxies, v1_from, v2_from};

/// A stream that arrives in pieces, with a wait before each. Nothing comes after the last.
struct Pieces {
    pieces: Vec<Vec<u8>>,
    waits: bool,
}

impl Pieces {
    fn new(bytes: &[u8], cuts: &[prop::sample::Index]) -> Self {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut pieces: Vec<_> = cuts.windows(2).map(|cut| bytes[cut[0]..cut[1]].to_vec()).collect();
        pieces.retain(|piece| !piece.is_empty());
        pieces.reverse();
        Self { pieces, waits: true }
    }
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.waits = !self.waits;
        if !self.waits {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(mut piece) = self.pieces.pop() {
            let rest = piece.split_off(piece.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            if !rest.is_empty() {
                self.pieces.push(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn accept(stream: Pieces, reads: usize) -> Result<(SocketAddr, Vec<u8>), HandshakeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (mut stream, caller) = proxies().accept(stream, peer()).await?;
        let (mut body, mut read) = (Vec::new(), vec![0; reads]);
        loop {
            match stream.read(&mut read).await? {
                0 => return Ok((caller, body)),
                length => body.extend_from_slice(&read[..length]),
            }
        }
    })
}

fn outcome(result: Result<(SocketAddr, Vec<u8>), HandshakeError>) -> Result<(SocketAddr, Vec<u8>), String> {
    result.map_err(|error| error.to_string())
}

fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    vec(any::<prop::sample::Index>(), 0..40)
}

/// Bytes that begin as a header of either version does, or as anything.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let v1 = "(TCP4|TCP6|UNKNOWN|[A-Z0-9]{0,5})[ .:0-9a-f\r\n]{0,120}"
        .prop_map(|line| format!("PROXY {line}").into_bytes());
    let v2 = (
        prop_oneof![Just(PROXY), Just(0x20), any::<u8>()],
        any::<u8>(),
        0_u16..300,
        vec(any::<u8>(), 0..300),
    )
        .prop_map(|(command, family, length, block)| {
            [SIGNATURE, &[command, family], &length.to_be_bytes(), &block].concat()
        });
    prop_oneof![v1, v2, vec(any::<u8>(), 0..200)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_split_changes_nothing(
        caller in any::<SocketAddr>(),
        binary in any::<bool>(),
        more in vec(any::<u8>(), 0..600),
        body in vec(any::<u8>(), 0..600),
        cuts in cuts(),
        reads in 1_usize..300,
    ) {
        // A zone id and a flow label are no part of a header.
        let caller = SocketAddr::new(caller.ip(), caller.port());
        let header = if binary { v2_from(caller, &more) } else { v1_from(caller) };
        let sent = [&header[..], &body].concat();
        prop_assert_eq!(outcome(accept(Pieces::new(&sent, &cuts), reads)), Ok((caller, body)));
    }

    #[test]
    fn no_bytes_panic_and_a_split_does_not_change_the_outcome(bytes in hostile(), cuts in cuts()) {
        let whole = outcome(accept(Pieces::new(&bytes, &[]), 64));
        if let Ok((_, body)) = &whole {
            prop_assert!(bytes.ends_with(body));
        }
        prop_assert_eq!(outcome(accept(Pieces::new(&bytes, &cuts), 64)), whole);
    }
}
