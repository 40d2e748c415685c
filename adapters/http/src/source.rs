/// Where a caller's address is found. Exactly one place is looked at.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub enum Source {
    /// The socket's peer. The default; no header can change it.
    #[default]
    Peer,
    /// `X-Forwarded-For`, a list to which each proxy adds its own peer on the right.
    XForwardedFor,
    /// `Forwarded` (RFC 7239), likewise.
    Forwarded,
    /// A field of this name with one address, which a proxy sets whatever the client sent: `CF-Connecting-IP`,
    /// `Fly-Client-IP`, `X-Real-IP`.
    Header(String),
}

impl Source {
    /// A field with one address, by its name in any case.
    pub fn header(name: impl AsRef<str>) -> Self {
        Self::Header(name.as_ref().to_ascii_lowercase())
    }

    /// The field's name, in lower case; the peer is in none.
    pub(crate) fn field(&self) -> Option<&str> {
        match self {
            Self::Peer => None,
            Self::XForwardedFor => Some("x-forwarded-for"),
            Self::Forwarded => Some("forwarded"),
            Self::Header(name) => Some(name),
        }
    }

    pub(crate) fn kind(&self) -> tollgate::Source {
        match self {
            Self::Peer => tollgate::Source::Peer,
            Self::XForwardedFor => tollgate::Source::XForwardedFor,
            Self::Forwarded => tollgate::Source::Forwarded,
            Self::Header(_) => tollgate::Source::Header,
        }
    }
}
