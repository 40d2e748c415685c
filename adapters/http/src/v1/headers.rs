use http::header::{Entry, GetAll, HeaderName, HeaderValue};
use http::{HeaderMap, Request};

use crate::decision::Decision;
use crate::gate::Gate;
use crate::name::FieldName;
use crate::request::RequestFields;
use crate::v1::head::Head;

/// A request's header fields and its path, with those that outer gates have taken from it by [`strip`].
#[derive(Clone, Copy)]
pub(crate) struct Headers<'r> {
    fields: &'r HeaderMap,
    path: &'r str,
    stripped: Option<&'r Stripped>,
}

/// Credentials that a gate has taken from a request, for the gates and guards further inside. No handler can name it.
#[derive(Clone, Default)]
struct Stripped(Vec<(HeaderName, HeaderValue)>);

impl<'r> Headers<'r> {
    pub(crate) fn of(head: &Head<'r>) -> Self {
        Self { fields: head.headers, path: head.uri.path(), stripped: head.extensions.get() }
    }

    /// The values of a field that are there, and then those that were taken.
    fn and_stripped<'s>(
        &'s self,
        values: GetAll<'s, HeaderValue>,
        name: &'s str,
    ) -> impl DoubleEndedIterator<Item = &'s [u8]> {
        let stripped = self.stripped.map_or(&[][..], |stripped| &stripped.0).iter();
        let stripped = stripped.filter(move |(taken, _)| taken == name).map(|(_, value)| value);
        values.into_iter().chain(stripped).map(HeaderValue::as_bytes)
    }
}

impl RequestFields for Headers<'_> {
    fn lines<'r>(&'r self, name: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        self.and_stripped(self.fields.get_all(name), name)
    }

    fn named<'r>(&'r self, name: &'r FieldName) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        let all = match name.known() {
            Some(known) => self.fields.get_all(known),
            None => self.fields.get_all(name.as_str()),
        };
        self.and_stripped(all, name.as_str())
    }

    fn may_have(&self, name: &FieldName) -> bool {
        self.stripped.is_some() || name.known().is_none_or(|known| self.fields.contains_key(known))
    }

    fn path(&self) -> Option<&str> {
        Some(self.path)
    }
}

/// Takes the credential's field from a request before the application sees it, if the gate is built so.
pub(crate) fn strip<B>(gate: &Gate, decision: &Decision, request: &mut Request<B>) {
    if !gate.strips_credential(decision) {
        return;
    }
    let Ok(Entry::Occupied(entry)) = request.headers_mut().try_entry(gate.credential_header()) else {
        return;
    };
    let name = entry.key().clone();
    let taken: Vec<_> = entry.remove_entry_mult().1.map(|value| (name.clone(), value)).collect();
    request.extensions_mut().get_or_insert_default::<Stripped>().0.extend(taken);
}
