use tollgate::{Overflow, Quota};

/// A further limit of a gate: a quota with a name, and who shares its budget.
///
/// ```
/// use tollgate_http::{Gate, Policy, Quota};
/// // 300 a minute for each address or /64, 3,000 for its /24 or /48, and 50,000 for all together.
/// let gate = Gate::builder(Quota::per_minute(300))
///     .policy(Policy::new("network", Quota::per_minute(3_000)).v4_prefix(24).v6_prefix(48))
///     .policy(Policy::new("everyone", Quota::per_minute(50_000)).for_everyone())
///     .build()?;
/// let decision = gate.decide("203.0.113.7".parse().ok(), &())?;
/// let fields = gate.fields(&decision).expect("it is counted");
/// // What others have used is not told.
/// assert_eq!(fields.rate_limit(), r#""default";r=299;t=60"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a policy limits nobody until a gate has it"]
pub struct Policy {
    pub(crate) name: String,
    pub(crate) quota: Quota,
    pub(crate) sharers: Sharers,
    pub(crate) capacity: Option<usize>,
    pub(crate) overflow: Overflow,
}

/// Who shares a budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sharers {
    /// A network, by the prefixes' lengths where they differ from the gate's own.
    Network {
        v4: Option<u8>,
        v6: Option<u8>,
    },
    Everyone,
}

/// The longest name of a policy, in bytes.
pub const LONGEST_POLICY_NAME: usize = 32;

/// The most policies that a gate has, its first included.
pub const MOST_POLICIES: usize = 4;

impl Policy {
    /// A limit for each caller, as the gate tells them apart. The name is 1 to 32 printable ASCII characters without
    /// `"` and `\`, and no other policy's of the gate.
    pub fn new(name: impl Into<String>, quota: Quota) -> Self {
        let sharers = Sharers::Network { v4: None, v6: None };
        Self { name: name.into(), quota, sharers, capacity: None, overflow: Overflow::default() }
    }

    /// The budget is that of an IPv4 network of this prefix length, 8 to 32.
    pub fn v4_prefix(mut self, bits: u8) -> Self {
        let v6 = if let Sharers::Network { v6, .. } = self.sharers { v6 } else { None };
        self.sharers = Sharers::Network { v4: Some(bits), v6 };
        self
    }

    /// The budget is that of an IPv6 network of this prefix length, 32 to 128.
    pub fn v6_prefix(mut self, bits: u8) -> Self {
        let v4 = if let Sharers::Network { v4, .. } = self.sharers { v4 } else { None };
        self.sharers = Sharers::Network { v4, v6: Some(bits) };
        self
    }

    /// One budget for all callers together.
    ///
    /// # Security
    /// What all share, one can use up, unless another policy of the gate leaves it less.
    pub fn for_everyone(mut self) -> Self {
        self.sharers = Sharers::Everyone;
        self
    }

    /// How many callers or networks have room at once; the default is the gate's.
    pub fn capacity(mut self, callers: usize) -> Self {
        self.capacity = Some(callers);
        self
    }

    /// What happens to a newcomer that finds no room. The default is [`Overflow::Inherit`].
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// Whether a structured field's String (RFC 9651 §3.3.3) and a JSON string can carry the name as it is.
    pub(crate) fn has_plain_name(&self) -> bool {
        let plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        (1..=LONGEST_POLICY_NAME).contains(&self.name.len()) && self.name.bytes().all(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_string_carries_are_refused() {
        for name in ["", "\"", "a\\b", "a\nb", "tägig", "\u{7f}", &"n".repeat(33)] {
            assert!(!Policy::new(name, Quota::per_minute(1)).has_plain_name(), "{name:?}");
        }
        assert!(Policy::new("n".repeat(32), Quota::per_minute(1)).has_plain_name());
    }
}
