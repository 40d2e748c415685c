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
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProjection]
    #[derive(Clone, Debug)]
    enum Kind<B> {
        Passed {
            #[pin]
            body: B,
        },
        Answer {
            #[pin]
            body: Full<Bytes>,
        },
    }
}

impl<B> ResponseBody<B> {
    pub(crate) fn passed(body: B) -> Self {
        Self { kind: Kind::Passed { body } }
    }
}

/// The gate's own.
impl<B> From<Bytes> for ResponseBody<B> {
    fn from(answer: Bytes) -> Self {
        Self { kind: Kind::Answer { body: answer.into() } }
    }
}

impl<B: Body<Data = Bytes>> Body for ResponseBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().kind.project() {
            KindProjection::Passed { body } => body.poll_frame(cx),
            KindProjection::Answer { body } => body.poll_frame(cx).map_err(|never| match never {}),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Passed { body } => body.is_end_stream(),
            Kind::Answer { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Passed { body } => body.size_hint(),
            Kind::Answer { body } => body.size_hint(),
        }
    }
}
