/// Where the caller's address is read. Whatever else a request carries is never looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Source {
    /// The socket's peer, which is right where no proxy stands before the server.
    #[default]
    Peer,
    /// `X-Forwarded-For`, to which each proxy appends the address that it was reached from.
    XForwardedFor,
    /// `Forwarded` (RFC 7239), to which each proxy appends an element with that address after `for=`.
    Forwarded,
    /// A header that holds the caller's address alone, such as `CF-Connecting-IP`, `Fly-Client-IP` or `X-Real-IP`; whoever
    /// reads the request knows its name.
    ///
    /// # Security
    /// The trusted proxy must overwrite what the caller sends in it.
    Header,
}
