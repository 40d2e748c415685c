use std::sync::LazyLock;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, Entry, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};

use crate::answer::Answer;
use crate::fields::Merge;
use crate::name::{Line, NAMES};

/// A gate's answer as a response to a request of this method.
pub(crate) fn to_response<R: From<Bytes>>(answer: Answer, method: &Method) -> Response<R> {
    let status = StatusCode::from_u16(answer.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut headers = HeaderMap::with_capacity(ROOM);
    let mut body = answer.write(|line| add(&mut headers, line));
    // Over HTTP/2, hyper would send a body with the response to HEAD, too.
    if method == Method::HEAD {
        headers.entry(CONTENT_LENGTH).or_insert_with(|| body.len().into());
        body = Bytes::new();
    }
    let mut response = Response::new(R::from(body));
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    response
}

/// Adds a field without overwriting any.
pub(crate) fn add(headers: &mut HeaderMap, line: Line) {
    let merge = line.merge;
    let parsed = line.parse(&*KNOWN, |value| HeaderValue::from_maybe_shared(value).ok());
    let Some((name, value)) = parsed else { return };
    // A map that is full to its last place stays as it is.
    if merge == Merge::Append {
        headers.try_append(name, value).ok();
    } else if let Ok(Entry::Vacant(vacant)) = headers.try_entry(name) {
        vacant.try_insert(value).ok();
    }
}

static KNOWN: LazyLock<[HeaderName; NAMES.len()]> = LazyLock::new(|| NAMES.map(HeaderName::from_static));

/// Eight fields of a refusal with all of them, and the length of its body.
const ROOM: usize = 9;
