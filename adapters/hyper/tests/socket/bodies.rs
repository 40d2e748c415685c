//! Whatever body an application answers with passes as it is.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::HeaderValue;
use hyper::service::{Service, service_fn};
use hyper::{HeaderMap, Method, Request, Response};
use tollgate_conformance::{Caller, five};
use tollgate_hyper::{ResponseBody, Tollgate};

use crate::support::serve;

async fn echo(request: Request<Incoming>) -> Result<Response<Incoming>, Infallible> {
    Ok(Response::new(request.into_body()))
}

async fn boxed(_: Request<Incoming>) -> Result<Response<BoxBody<Bytes, io::Error>>, Infallible> {
    Ok(Response::new(String::from("boxed").map_err(|never| match never {}).boxed()))
}

#[tokio::test]
async fn bodies_of_any_type_pass_and_refusals_have_their_own() {
    let tollgate = || Tollgate::new(five().0.build().unwrap());
    for over in [Caller::from, Caller::over_http2] {
        let caller = over(1, serve(&tollgate(), service_fn(echo)).await);
        let sent = Bytes::from(vec![b'x'; 300_000]);
        assert_eq!(caller.send(Method::POST, "/", &[], sent.clone()).await.body, sent);
        caller.statuses("/", 4).await;
        let refused = caller.send(Method::POST, "/", &[], sent).await;
        assert!(refused.status == 429 && refused.body.starts_with(b"{\"type\""), "{refused:?}");

        let caller = over(1, serve(&tollgate(), service_fn(boxed)).await);
        let reply = caller.get("/").await;
        assert_eq!((&reply.body[..], reply.lines("content-length")), (&b"boxed"[..], vec!["5"]));
    }
}

/// Whoever handles the application's errors goes on doing so: they keep their type.
const fn fails_with<B: Body<Error = E>, E>() {}
const _: () = fails_with::<ResponseBody<BoxBody<Bytes, io::Error>>, io::Error>();

/// Two chunks and trailers.
struct Frames(u8);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0 += 1;
        Poll::Ready(match self.0 {
            1 => Some(Ok(Frame::data("one ".into()))),
            2 => Some(Ok(Frame::data("two".into()))),
            3 => {
                let status = [("grpc-status".parse().unwrap(), HeaderValue::from_static("0"))];
                Some(Ok(Frame::trailers(HeaderMap::from_iter(status))))
            }
            _ => None,
        })
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::new();
        hint.set_upper(99);
        hint
    }
}

#[tokio::test]
async fn frames_and_trailers_pass_one_by_one() {
    let frames = service_fn(|_: Request<Incoming>| async { Ok::<_, Infallible>(Response::new(Frames(0))) });
    let server = serve(&Tollgate::new(five().0.build().unwrap()), frames).await;
    let reply = Caller::over_http2(1, server).get("/").await;
    assert_eq!(reply.body, "one two");
    assert_eq!(reply.trailers.unwrap()["grpc-status"], "0");
}

#[tokio::test]
async fn a_body_s_length_and_end_are_those_of_the_application_s() {
    async fn answer<B, S>(inner: S) -> ResponseBody<B>
    where
        S: Service<Request<Empty<Bytes>>, Response = Response<B>, Error = Infallible> + Clone,
    {
        let service = Tollgate::new(five().0.build().unwrap()).wrap(inner, "203.0.113.7".parse().ok());
        service.call(Request::new(Empty::new())).await.unwrap().into_body()
    }
    let empty = answer(service_fn(|_| async { Ok(Response::new(Empty::<Bytes>::new())) })).await;
    assert!(empty.is_end_stream());
    let frames = answer(service_fn(|_| async { Ok(Response::new(Frames(0))) })).await;
    assert_eq!((frames.is_end_stream(), frames.size_hint().upper()), (false, Some(99)));
}

#[tokio::test]
async fn an_error_of_the_application_s_stays_one() {
    async fn fail(_: Request<Empty<Bytes>>) -> Result<Response<Empty<Bytes>>, Box<dyn Error + Send + Sync>> {
        Err("the database is gone".into())
    }
    for (charge_if, last) in [(500, 429), (200, 0)] {
        let gate = five().0.in_flight(1).charge_if(move |status| status == charge_if).build().unwrap();
        let service = Tollgate::new(gate).wrap(service_fn(fail), "203.0.113.7".parse().ok());
        for _ in 0..5 {
            let error = service.call(Request::new(Empty::new())).await.unwrap_err();
            assert_eq!(error.to_string(), "the database is gone");
        }
        // Each is charged as a 500 is, and none is under way.
        let answered = service.call(Request::new(Empty::new())).await;
        assert_eq!(answered.map_or(0, |response| response.status().as_u16()), last);
    }
}
