#[cfg(feature = "alloc")]
use super::error::OriginError;

/// How much of an address is one caller: the lengths of the prefixes whose hosts share a budget.
///
/// By default an IPv4 caller is its address (/32), since neighbouring addresses mostly belong to different people, and an
/// IPv6 caller is its /64, since that is the least that one connection is given. A /56 or /48 is what many providers
/// give to one household or one hosted machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefixes {
    v4: u8,
    v6: u8,
}

impl Prefixes {
    /// /32 and /64.
    pub const DEFAULT: Self = Self { v4: 32, v6: 64 };

    /// Prefixes of 8 to 32 bits for IPv4 and of 32 to 128 bits for IPv6.
    ///
    /// # Errors
    /// If one is out of its range: a shorter one would make callers of whole providers, or of everybody.
    #[cfg(feature = "alloc")]
    pub const fn new(v4: u8, v6: u8) -> Result<Self, OriginError> {
        match (v4, v6) {
            (8..=32, 32..=128) => Ok(Self { v4, v6 }),
            (8..=32, prefix) => Err(OriginError::V6Prefix { prefix }),
            (prefix, _) => Err(OriginError::V4Prefix { prefix }),
        }
    }

    /// The length of an IPv4 caller's prefix, in bits.
    pub const fn v4(self) -> u8 {
        self.v4
    }

    /// The length of an IPv6 caller's prefix, in bits.
    pub const fn v6(self) -> u8 {
        self.v6
    }
}

impl Default for Prefixes {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;

    #[test]
    fn only_sensible_prefixes_can_be_had() {
        for (v4, v6) in [(8, 32), (32, 128), (24, 48)] {
            let prefixes = Prefixes::new(v4, v6).unwrap();
            assert_eq!((prefixes.v4(), prefixes.v6()), (v4, v6));
        }
        for prefix in [0, 7, 33, u8::MAX] {
            assert_eq!(Prefixes::new(prefix, 64), Err(OriginError::V4Prefix { prefix }));
        }
        for prefix in [0, 31, 129, u8::MAX] {
            assert_eq!(Prefixes::new(32, prefix), Err(OriginError::V6Prefix { prefix }));
        }
        assert_eq!(Prefixes::new(32, 64), Ok(Prefixes::default()));
    }
}
