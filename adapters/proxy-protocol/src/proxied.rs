use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream without its PROXY header. It reads first what was read beyond the header, so no byte is lost.
#[derive(Debug)]
pub struct Proxied<S> {
    ahead: Vec<u8>,
    begin: usize,
    stream: S,
}

impl<S> Proxied<S> {
    /// A stream as it is, to have one type for connections with a header and without.
    pub fn new(stream: S) -> Self {
        Self::ahead(Vec::new(), stream)
    }

    pub(crate) fn ahead(ahead: Vec<u8>, stream: S) -> Self {
        Self { ahead, begin: 0, stream }
    }

    /// The stream, to set its options. Whoever reads from it may miss bytes that this one would read first.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// What is still to be read first, and the stream.
    pub fn into_parts(mut self) -> (Vec<u8>, S) {
        (self.ahead.split_off(self.begin), self.stream)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Proxied<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let ahead = this.ahead.get(this.begin..).unwrap_or_default();
        if ahead.is_empty() {
            return Pin::new(&mut this.stream).poll_read(cx, buffer);
        }
        let (read, rest) = ahead.split_at(ahead.len().min(buffer.remaining()));
        buffer.put_slice(read);
        if rest.is_empty() {
            // The connection may live for long, so its memory goes now.
            (this.ahead, this.begin) = (Vec::new(), 0);
        } else {
            this.begin += read.len();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Proxied<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
