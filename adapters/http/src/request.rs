use crate::name::FieldName;

/// A request's header fields, as a gate asks for them: what an adapter implements for its framework's type.
///
/// ```
/// use tollgate_http::RequestFields;
/// let fields = [("x-forwarded-for", "198.51.100.1"), ("X-Forwarded-For", "10.0.0.2")];
/// assert_eq!(fields[..].lines("x-forwarded-for").last(), Some(&b"10.0.0.2"[..]));
/// ```
pub trait RequestFields {
    /// The values of all lines of the field `name`, in the order received. The name is given in lower case, and is
    /// compared without regard to case; no other name is like it, not even with `_` for `-`.
    ///
    /// # Security
    /// Every line, or what is left out can't be seen to be there: two credentials at once are nobody's.
    fn lines<'r>(&'r self, name: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]>;

    /// The same of a name that is ready to be looked up, for types that find it faster so.
    fn named<'r>(&'r self, name: &'r FieldName) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        self.lines(name.as_str())
    }

    /// Whether there may be such a field, whatever its name, for types that see sooner that there is none: most requests have no
    /// credential, and few have all that may tell callers apart.
    ///
    /// # Security
    /// `false` only where [`lines`](Self::lines) has none, or an own service is taken for a stranger, and a field that is there
    /// for one that is not.
    fn may_have(&self, name: &FieldName) -> bool {
        self.named(name).next().is_some()
    }

    /// The path as the client wrote it, if it is known. A gate decides nothing by it; the report of throttled callers
    /// tells who asks for internal routes.
    fn path(&self) -> Option<&str> {
        None
    }
}

/// The same, with a look at whether it holds.
#[inline]
pub(crate) fn may_have(fields: &(impl RequestFields + ?Sized), name: &FieldName) -> bool {
    let may_have = fields.may_have(name);
    let has_none = || fields.named(name).next().is_none();
    debug_assert!(may_have || has_none(), "`RequestFields::may_have` denies a field that is there");
    may_have
}

/// Pairs of names and values, in any case.
impl<N: AsRef<str>, V: AsRef<[u8]>> RequestFields for [(N, V)] {
    fn lines<'r>(&'r self, name: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        self.iter()
            .filter(move |(given, _)| given.as_ref().eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_ref())
    }
}

/// As the slice.
impl<N: AsRef<str>, V: AsRef<[u8]>, const M: usize> RequestFields for [(N, V); M] {
    fn lines<'r>(&'r self, name: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        self[..].lines(name)
    }
}

/// A request without any field.
impl RequestFields for () {
    fn lines<'r>(&'r self, _: &'r str) -> impl DoubleEndedIterator<Item = &'r [u8]> {
        std::iter::empty()
    }
}
