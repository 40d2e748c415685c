//! Which bytes of a request are its credential.

use crate::name::FieldName;

/// The most secrets that are valid at once: eight services, each amid a rotation.
pub const MOST_SECRETS: usize = 16;

/// The longest name of the credential's header, in bytes.
pub const LONGEST_HEADER_NAME: usize = 64;

/// The header field that carries a service's secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CredentialField {
    pub(crate) name: FieldName,
    pub(crate) scheme: Scheme,
}

/// How the secret stands in that field's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scheme {
    /// The whole value.
    Whole,
    /// After `Bearer`, in any case (RFC 9110 §11.1, RFC 6750 §2.1).
    Bearer,
}

impl CredentialField {
    pub(crate) fn header(name: &str) -> Self {
        Self { name: FieldName::new(name), scheme: Scheme::Whole }
    }

    pub(crate) fn bearer() -> Self {
        Self { name: FieldName::new("authorization"), scheme: Scheme::Bearer }
    }

    /// Whether the field can be sent, and its name has a length that a challenge has room for.
    pub(crate) fn is_sendable(&self) -> bool {
        is_field_name(self.name.as_str())
    }

    /// What a request presents, given the values of this field's lines.
    ///
    /// Two lines present the empty secret, which is nobody's: a hop that looked at one of them may have looked at
    /// the other one, so neither is to be trusted.
    pub(crate) fn presented<'r>(&self, lines: impl IntoIterator<Item = &'r [u8]>) -> Option<&'r [u8]> {
        let mut lines = lines.into_iter();
        let line = lines.next()?;
        if lines.next().is_some() {
            return Some(NOBODYS);
        }
        match self.scheme {
            Scheme::Whole => Some(line),
            Scheme::Bearer => bearer(line),
        }
    }

    /// The challenge to whoever presents no valid secret (RFC 9110 §11.6.1).
    pub(crate) fn challenge(&self) -> String {
        match self.scheme {
            Scheme::Whole => format!("Token realm=\"internal\", header=\"{}\"", self.name.as_str()),
            Scheme::Bearer => "Bearer realm=\"internal\"".into(),
        }
    }
}

/// Whether a name is a token (RFC 9110 §5.6.2), as field names are, of at most 64 bytes.
pub(crate) fn is_field_name(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=LONGEST_HEADER_NAME).contains(&name.len()) && name.bytes().all(token)
}

/// Whether a header can carry the bytes (RFC 9110 §5.5).
pub(crate) fn is_field_value(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| !byte.is_ascii_control() || byte == b'\t')
}

/// Whether the bytes are a bearer token (RFC 6750 §2.1).
pub(crate) fn is_token68(bytes: &[u8]) -> bool {
    let token = bytes.trim_ascii_end();
    let padding = token.iter().rev().take_while(|&&byte| byte == b'=').count();
    let digits = token.get(..token.len() - padding).unwrap_or_default();
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(byte);
    token.len() == bytes.len() && !digits.is_empty() && digits.iter().all(is_digit)
}

const NOBODYS: &[u8] = b"";

/// The token of a bearer value; nothing if the value is of another scheme and so is for somebody else.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = match value.iter().position(|&byte| byte == b' ') {
        Some(space) => value.split_at(space),
        None => (value, NOBODYS),
    };
    scheme.eq_ignore_ascii_case(b"bearer").then_some(token.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_its_whole_value() {
        let field = CredentialField::header("X-Internal-Token");
        assert_eq!(field.name.as_str(), "x-internal-token");
        assert_eq!(field.presented([]), None);
        assert_eq!(field.presented([&b"secret"[..]]), Some(&b"secret"[..]));
        assert_eq!(field.presented([&b""[..]]), Some(NOBODYS));
    }

    // Abuse 7: two credential lines are never exempt.
    #[test]
    fn two_lines_present_nobodys_secret() {
        for field in [CredentialField::header("x-internal-token"), CredentialField::bearer()] {
            for lines in [[&b"Bearer a"[..], b"Bearer a"], [b"Bearer a", b""], [b"", b"Bearer a"]] {
                assert_eq!(field.presented(lines), Some(NOBODYS));
            }
        }
    }

    #[test]
    fn bearer_in_any_case_and_no_other_scheme() {
        let field = CredentialField::bearer();
        for value in ["Bearer secret", "bearer secret", "BEARER   secret"] {
            assert_eq!(field.presented([value.as_bytes()]), Some(&b"secret"[..]), "{value}");
        }
        assert_eq!(field.presented([&b"Bearer"[..]]), Some(NOBODYS));
        assert_eq!(field.presented([&b"Bearer "[..]]), Some(NOBODYS));
        for value in ["Basic secret", "Bearersecret", "secret", "", " Bearer secret"] {
            assert_eq!(field.presented([value.as_bytes()]), None, "{value}");
        }
    }
}
