use http::header::{Entry, GetAll, HeaderName, HeaderValue};
use http::{Extensions, HeaderMap, Request};

use crate::decision::Decision;
use crate::gate::Gate;
use crate::name::FieldName;
use crate::request::RequestFields;
use crate::v1::head::Head;

/// A request's header fields and its path, with those that outer gates have taken from it by [`strip`].
#[derive(Clone, Copy)]
pub(crate) struct Headers<'r>(Head<'r>);

/// Credentials that a gate has taken from a request, for the gates and guards further inside. No handler can name it.
#[derive(Clone, Default)]
struct Stripped(Vec<(HeaderName, HeaderValue)>);

impl<'r> Headers<'r> {
    #[inline]
    pub(crate) fn of(head: &Head<'r>) -> Self {
        Self(*head)
    }

    #[inline]
    fn stripped(&self) -> Option<&'r Stripped> {
        if Gate::any_strips() { stripped(self.0.extensions) } else { None }
    }

    /// The values of a field that are there, and then those that were taken.
    fn and_stripped<'s>(
        &'s self,
        values: GetAll<'s, HeaderValue>,
        name: &'s str,
    ) -> impl DoubleEndedIterator<Item = &'s [u8]> {
        let stripped = self.stripped().map_or(&[][..], |stripped| &stripped.0).iter();
        let stripped = stripped.filter(move |(taken, _)| taken == name).map(|(_, value)| value);
        values.into_iter().chain(stripped).map(HeaderValue::as_bytes)
    }
}

impl RequestFields for Headers<'_> {
    fn lines<'r>(&'r self, name: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        self.and_stripped(self.0.headers.get_all(name), name)
    }

    fn named<'r>(&'r self, name: &'r FieldName) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        let all = match name.known() {
            Some(known) => self.0.headers.get_all(known),
            None => self.0.headers.get_all(name.as_str()),
        };
        self.and_stripped(all, name.as_str())
    }

    #[inline]
    fn may_have(&self, name: &FieldName) -> bool {
        name.known().is_none_or(|known| has(self.0.headers, known)) || self.stripped().is_some()
    }

    fn path(&self) -> Option<&str> {
        Some(self.0.uri.path())
    }
}

/// Whether a field is there. A name that is not a standard one is hashed byte by byte, which takes 10 ns, and to look at each of
/// a few names takes 0.6.
#[inline]
pub(crate) fn has(fields: &HeaderMap, name: &HeaderName) -> bool {
    const FEW: usize = 12;
    if fields.keys_len() <= FEW {
        fields.keys().any(|there| there == name)
    } else {
        fields.contains_key(name)
    }
}

#[inline(never)]
fn stripped(extensions: &Extensions) -> Option<&Stripped> {
    extensions.get()
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

#[cfg(test)]
mod tests {
    use super::*;

    // Few are looked through, and among many is looked up.
    #[test]
    fn a_field_is_found_among_however_many() {
        let sought = HeaderName::from_static("x-internal-token");
        for count in 0..40 {
            for place in (0..=count).map(Some).chain([None]) {
                let mut fields = HeaderMap::new();
                for number in 0..=count {
                    if place == Some(number) {
                        fields.append(&sought, HeaderValue::from_static("secret"));
                    } else {
                        let name = HeaderName::from_bytes(format!("x-other-{number}").as_bytes()).unwrap();
                        fields.append(name, HeaderValue::from_static("value"));
                    }
                }
                assert_eq!(has(&fields, &sought), place.is_some(), "{count} fields, at {place:?}");
                assert_eq!(has(&fields, &sought), fields.contains_key(&sought));
            }
        }
    }
}
