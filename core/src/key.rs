use core::fmt;
use core::hash::Hasher;
use core::net::IpAddr;

use siphasher::sip::SipHasher13;
use zeroize::Zeroize;

/// A caller's 64-bit fingerprint: what the table knows of it.
///
/// The table takes the tag, the first line and the home slot from disjoint bits of it, so the bits must be
/// well mixed; a [`Keyer`] sees to that.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u64);

impl Key {
    /// A key from a fingerprint made elsewhere.
    ///
    /// Where nobody who is counted can learn from the answers, as of frames on a wire of your own or lines of a log, a
    /// faster hash than a [`Keyer`]'s makes a decision take half of the time:
    ///
    /// ```
    /// use std::hash::BuildHasher;
    /// # use tollgate::Key;
    /// let hash = foldhash::quality::RandomState::default();
    /// let key = Key::from_fingerprint(hash.hash_one(*b"device 7"));
    /// ```
    ///
    /// # Security
    /// The fingerprint must come from a keyed hash whose seed callers don't know. From a number that callers
    /// can choose or predict they can aim at each other's words. Numbers that are not mixed (1, 2, 3, …) also
    /// share one tag, and so one budget.
    pub const fn from_fingerprint(fingerprint: u64) -> Self {
        Self(fingerprint)
    }

    /// The fingerprint.
    pub const fn fingerprint(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:016x})", self.0)
    }
}

/// Turns an address or bytes into a [`Key`] under a secret seed.
///
/// The hash is SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012; the variant that
/// Rust's standard maps use): a caller who doesn't know the seed can't find other inputs for a word or a line.
/// The three kinds of input never meet: the bytes `203.0.113.7` are another key than the address 203.0.113.7.
///
/// # Security
/// The seed is a secret. Nodes that share a budget share the seed; otherwise take a new one for each process.
#[derive(Clone)]
pub struct Keyer {
    seed: [u8; 16],
}

impl Keyer {
    /// A keyer with a given seed: 16 bytes from a source that callers can't guess.
    ///
    /// Firmware takes them from its random number generator or writes them once to each device. A seed that
    /// stands in the source code is known to everyone who has the firmware.
    pub const fn new(seed: [u8; 16]) -> Self {
        Self { seed }
    }

    /// A keyer with a seed from the operating system, by way of [`std::hash::RandomState`], which seeds the maps of
    /// the standard library against the same kind of attack.
    ///
    /// # Security
    /// On a target whose standard library has no source of randomness (WebAssembly without a host's) the seed is no
    /// secret: give one to [`Keyer::new`] there.
    #[cfg(feature = "std")]
    pub fn random() -> Self {
        use core::hash::BuildHasher;
        use std::hash::RandomState;
        let half = || RandomState::new().build_hasher().finish().to_ne_bytes();
        let mut seed = [0; 16];
        let (low, high) = seed.split_at_mut(8);
        low.copy_from_slice(&half());
        high.copy_from_slice(&half());
        Self { seed }
    }

    /// The key of an address, every bit of it.
    ///
    /// Two spellings of one host (`203.0.113.7` and `::ffff:203.0.113.7`) are two addresses here, and so are two
    /// addresses of one household's /64: bring the address to its canonical form and cut it to its network
    /// first, with [`Origin`](crate::Origin).
    #[inline]
    pub fn address(&self, address: IpAddr) -> Key {
        // As numbers, which stay in registers: as bytes they are written to memory one by one and waited for there.
        let mut hasher = self.hasher();
        match address {
            IpAddr::V4(v4) => {
                hasher.write_u8(Kind::V4 as u8);
                hasher.write_u32(u32::from_ne_bytes(v4.octets()));
            }
            IpAddr::V6(v6) => {
                let [low, high] = halves(v6.octets()).map(u64::from_le);
                hasher.write_u8(Kind::V6 as u8);
                hasher.write_u64(low);
                hasher.write_u64(high);
            }
        }
        Key(hasher.finish())
    }

    /// The key of some bytes: a user's number, an API key's identity, a radio peer's address.
    ///
    /// # Security
    /// Only of what has been authenticated. From an unverified token every forgery would be a fresh budget.
    pub fn bytes(&self, bytes: &[u8]) -> Key {
        self.hash(Kind::Bytes, |hasher| hasher.write(bytes))
    }

    /// The key of several parts together (tenant, route, address), encoded with their lengths, so that
    /// `["ab", "c"]` and `["a", "bc"]` are two keys.
    pub fn parts(&self, parts: &[&[u8]]) -> Key {
        self.hash(Kind::Parts, |hasher| {
            for part in parts {
                hasher.write(&(part.len() as u64).to_le_bytes());
                hasher.write(part);
            }
        })
    }

    #[inline]
    fn hasher(&self) -> SipHasher13 {
        let [low, high] = halves(self.seed);
        SipHasher13::new_with_keys(low, high)
    }

    #[inline]
    fn hash(&self, kind: Kind, feed: impl FnOnce(&mut SipHasher13)) -> Key {
        let mut hasher = self.hasher();
        hasher.write(&[kind as u8]);
        feed(&mut hasher);
        Key(hasher.finish())
    }
}

impl Drop for Keyer {
    fn drop(&mut self) {
        self.seed.zeroize();
    }
}

impl fmt::Debug for Keyer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyer(secret)")
    }
}

/// Sixteen bytes as two numbers, the lowest byte first.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
const fn halves(bytes: [u8; 16]) -> [u64; 2] {
    let whole = u128::from_le_bytes(bytes);
    [whole as u64, (whole >> 64) as u64]
}

/// The first byte hashed, so that inputs of different kinds differ.
#[derive(Clone, Copy)]
enum Kind {
    V4,
    V6,
    Bytes,
    Parts,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const KEYER: Keyer = Keyer::new(*b"a seed for tests");

    #[test]
    fn kinds_never_meet() {
        let v4: IpAddr = [203, 0, 113, 7].into();
        let same = [203u8, 0, 113, 7];
        let keys =
            [KEYER.address(v4), KEYER.bytes(&same), KEYER.parts(&[&same]), KEYER.bytes(b"203.0.113.7")];
        for (i, a) in keys.iter().enumerate() {
            assert!(keys.iter().skip(i + 1).all(|b| a != b), "{keys:?}");
        }
    }

    #[test]
    fn the_seed_decides() {
        let other = Keyer::new(*b"another seed !!!");
        assert_ne!(KEYER.bytes(b"caller"), other.bytes(b"caller"));
        assert_eq!(KEYER.bytes(b"caller"), KEYER.clone().bytes(b"caller"));
    }

    #[cfg(feature = "std")]
    #[test]
    fn random_seeds_differ_and_are_not_printed() {
        let (a, b) = (Keyer::random(), Keyer::random());
        assert_ne!(a.seed, b.seed);
        assert_ne!(a.seed[..8], a.seed[8..]);
        assert_eq!(std::format!("{a:?}"), "Keyer(secret)");
    }

    proptest! {
        #[test]
        fn an_address_as_numbers_is_the_same_as_bytes(seed: [u8; 16], v4: [u8; 4], v6: [u8; 16]) {
            let keyer = Keyer::new(seed);
            prop_assert_eq!(keyer.address(v4.into()), keyer.hash(Kind::V4, |hasher| hasher.write(&v4)));
            prop_assert_eq!(keyer.address(v6.into()), keyer.hash(Kind::V6, |hasher| hasher.write(&v6)));
        }

        // Abuse 22: keys joined without a delimiter.
        #[test]
        fn parts_are_injective(a in vec(vec(0u8..3, 0..4), 0..4), b in vec(vec(0u8..3, 0..4), 0..4)) {
            let key = |parts: &Vec<Vec<u8>>| KEYER.parts(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>());
            prop_assert_eq!(a == b, key(&a) == key(&b));
        }
    }
}
