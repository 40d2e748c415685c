use tollgate::Quota;

use crate::text::{Text, text};

/// The longest name of a policy, in bytes.
pub const LONGEST_POLICY_NAME: usize = 32;

/// A quota with its name, and the field that describes both, which is the same on every response.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) name: String,
    pub(crate) quota: Quota,
    pub(crate) field: Text,
}

impl Policy {
    /// `None` unless the name is 1 to 32 printable ASCII characters without `"` and `\`: what a structured field's
    /// String (RFC 9651 §3.3.3) and a JSON string can carry as it is.
    pub(crate) fn new(name: String, quota: Quota) -> Option<Self> {
        let plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        if name.is_empty() || name.len() > LONGEST_POLICY_NAME || !name.bytes().all(plain) {
            return None;
        }
        // `w` is an integer above 0. A part of a second is rounded up: whoever paces itself by it is never refused.
        let field = match (quota.limit(), quota.window()) {
            (limit, window) if window.0 < 1_000_000_000 => text(format_args!("\"{name}\";q={limit}")),
            (limit, window) => text(format_args!("\"{name}\";q={limit};w={}", window.whole_secs_up())),
        };
        Some(Self { name, quota, field })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate::Nanos;

    fn field(quota: Quota) -> Text {
        Policy::new("default".into(), quota).unwrap().field
    }

    #[test]
    fn describes_the_quota() {
        assert_eq!(field(Quota::per_minute(300)), r#""default";q=300;w=60"#);
        assert_eq!(field(Quota::per_second(10)), r#""default";q=10;w=1"#);
        assert_eq!(field(Quota::new(10, Nanos::from_millis(1500))), r#""default";q=10;w=2"#);
        assert_eq!(field(Quota::new(10, Nanos::from_millis(999))), r#""default";q=10"#);
    }

    #[test]
    fn the_longest_fits() {
        let name = "n".repeat(LONGEST_POLICY_NAME);
        let policy = Policy::new(name.clone(), Quota::new(u32::MAX, Nanos::MAX)).unwrap();
        assert_eq!(policy.field, format!("\"{name}\";q=4294967295;w=18446744074").as_str());
    }

    #[test]
    fn names_that_no_string_carries_are_refused() {
        for name in ["", "\"", "a\\b", "a\nb", "tägig", "\u{7f}", &"n".repeat(33)] {
            assert!(Policy::new(name.into(), Quota::per_minute(1)).is_none(), "{name:?}");
        }
    }
}
