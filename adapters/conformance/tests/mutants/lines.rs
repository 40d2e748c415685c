use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use tollgate_http::RequestFields;

use crate::flaw::Flaw;

/// All lines of a request, in the order received, and its path.
pub(crate) struct Lines {
    lines: Vec<(String, Vec<u8>)>,
    path: Option<String>,
}

impl Lines {
    pub(crate) fn of(request: &Request, flaw: Option<Flaw>) -> Self {
        let mut lines: Vec<(String, Vec<u8>)> = Vec::new();
        let taken = request.extensions().get().filter(|_| flaw != Some(Flaw::ForgetsTheTaken));
        let taken = taken.into_iter().flat_map(|Taken(taken): &Taken| taken);
        for (name, value) in request.headers().iter().chain(taken.map(|(name, value)| (name, value))) {
            let name = match flaw {
                Some(Flaw::TakesAliases) => name.as_str().replace(['_', '.'], "-"),
                _ => name.to_string(),
            };
            let is_seen = match flaw {
                Some(Flaw::CountsServices) => name != "x-internal-token",
                Some(Flaw::SeesOneLine) => lines.iter().all(|(seen, _)| *seen != name),
                _ => true,
            };
            if is_seen {
                lines.push((name, value.as_bytes().to_vec()));
            }
        }
        let path = (flaw != Some(Flaw::HidesPaths)).then(|| request.uri().path().to_owned());
        Self { lines, path }
    }
}

/// Lines that were taken from a request, for whatever is further inside.
#[derive(Clone, Default)]
struct Taken(Vec<(HeaderName, HeaderValue)>);

/// Takes a field from a request.
pub(crate) fn take(name: &str, request: &mut Request) {
    let lines: Vec<_> = request.headers().get_all(name).iter().cloned().collect();
    if let Some(name) =
        request.headers().iter().map(|(name, _)| name.clone()).find(|given| given.as_str() == name)
    {
        request.headers_mut().remove(&name);
        let taken = request.extensions_mut().get_or_insert_default::<Taken>();
        taken.0.extend(lines.into_iter().map(|value| (name.clone(), value)));
    }
}

impl RequestFields for Lines {
    fn lines<'r>(&'r self, name: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        self.lines[..].lines(name)
    }

    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }
}
