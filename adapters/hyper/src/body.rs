use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// The body of a response: the application's, frame by frame as it is, or the gate's own.
    ///
    /// The application's may be any whose data is `Bytes`: `Incoming`, `BoxBody`, `Full`.
    #[derive(Clone, Debug)]
    pub struct ResponseBody<B> {
        #[pin]
        passed: Option<B>,
        // What is sent if nothing has passed.
        answer: Full<Bytes>,
    }
}

impl<B> ResponseBody<B> {
    pub(crate) fn passed(body: B) -> Self {
        Self { passed: Some(body), answer: Full::default() }
    }
}

/// The gate's own.
impl<B> From<Bytes> for ResponseBody<B> {
    fn from(answer: Bytes) -> Self {
        Self { passed: None, answer: answer.into() }
    }
}

impl<B: Body<Data = Bytes>> Body for ResponseBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        match this.passed.as_pin_mut() {
            Some(body) => body.poll_frame(cx),
            None => Pin::new(this.answer).poll_frame(cx).map_err(|never| match never {}),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.passed.as_ref().map_or_else(|| self.answer.is_end_stream(), B::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.passed.as_ref().map_or_else(|| self.answer.size_hint(), B::size_hint)
    }
}
