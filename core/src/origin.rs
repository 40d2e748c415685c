//! Who calls: the address that a limit counts, found behind proxies and brought to one form.

#[cfg(feature = "alloc")]
mod builder;
#[cfg(feature = "alloc")]
mod chain;
#[cfg(feature = "alloc")]
mod error;
#[cfg(feature = "alloc")]
mod forwarded;
#[cfg(feature = "alloc")]
mod list;
#[cfg(feature = "alloc")]
mod network;
#[cfg(feature = "alloc")]
mod node;
#[cfg(feature = "alloc")]
mod origins;
mod prefixes;
mod source;
#[cfg(feature = "alloc")]
mod trust;

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[cfg(feature = "alloc")]
pub use builder::OriginsBuilder;
#[cfg(feature = "alloc")]
pub use error::OriginError;
#[cfg(feature = "alloc")]
pub use network::TrustedNetwork;
#[cfg(feature = "alloc")]
pub use origins::Origins;
pub use prefixes::Prefixes;
pub use source::Source;

/// The caller that a limit counts: an address in canonical form and the network it stands for.
///
/// An IPv4 caller is its address (/32). An IPv6 caller is its /64, the smallest network that is given out, so
/// that nobody gets a fresh budget for each of the 2⁶⁴ addresses of one connection; other [`Prefixes`] can be chosen.
/// IPv4-mapped addresses and those of NAT64 (`64:ff9b::/96`, RFC 6052) become IPv4 before anything else: one host has
/// one budget, and two hosts have two. A NAT64 address of a private, loopback or link-local host stays IPv6, so that
/// nobody passes for a neighbour.
///
/// Two addresses of one network are two origins here; whoever counts by something of its own takes
/// [`network`](Self::network), not the whole value.
///
/// ```
/// use tollgate::Origin;
/// let caller = Origin::peer("2001:db8:1:2:3:4:5:6".parse()?);
/// assert_eq!(caller.to_string(), "2001:db8:1:2::/64");
/// assert_eq!(Origin::peer("::ffff:203.0.113.7".parse()?).to_string(), "203.0.113.7/32");
/// # Ok::<(), core::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The address as a number, in two halves. An [`IpAddr`] has its bytes behind a tag and not aligned, so that they are copied
    /// in pieces which whoever reads them waits for.
    high: u64,
    low: u64,
    is_v6: bool,
    /// Within what [`Prefixes`] allow.
    prefix: u8,
}

impl Origin {
    /// The origin of a socket's peer: the peer itself, at the default prefixes.
    ///
    /// # Security
    /// Behind a proxy the peer is the proxy, and all its callers are one: see `Origins`, with the feature `alloc`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
    pub const fn peer(peer: IpAddr) -> Self {
        let (bits, is_v6) = match peer {
            IpAddr::V4(v4) => (v4.to_bits() as u128, false),
            IpAddr::V6(v6) => match canonical_bits(v6) {
                bits if bits >> 32 == MAPPED >> 32 => (bits & u32::MAX as u128, false),
                bits => (bits, true),
            },
        };
        Self { high: (bits >> 64) as u64, low: bits as u64, is_v6, prefix: 0 }.at(Prefixes::DEFAULT)
    }

    /// The same caller as part of a smaller or larger network, so that one request can be held to several limits:
    /// its /64 to one and its /48 to another with a larger budget.
    ///
    #[cfg_attr(feature = "alloc", doc = "```")]
    #[cfg_attr(not(feature = "alloc"), doc = "```ignore")]
    /// use tollgate::{Origin, Prefixes};
    /// let caller = Origin::peer("2001:db8:1:2:3:4:5:6".parse()?);
    /// assert_eq!(caller.at(Prefixes::new(24, 48)?).to_string(), "2001:db8:1::/48");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub const fn at(self, prefixes: Prefixes) -> Self {
        let prefix = if self.is_v6 { prefixes.v6() } else { prefixes.v4() };
        Self { prefix, ..self }
    }

    /// The caller's address, canonical, every bit of it.
    #[inline]
    pub const fn address(&self) -> IpAddr {
        self.first_of(128)
    }

    /// The first address of the network that shares this caller's budget.
    #[inline]
    pub const fn network(&self) -> IpAddr {
        self.first_of(self.prefix)
    }

    /// The first address that begins with so many bits of this one.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "an IPv4 address has 32 bits")]
    const fn first_of(self, prefix: u8) -> IpAddr {
        if self.is_v6 {
            let bits = (self.high as u128) << 64 | self.low as u128;
            IpAddr::V6(Ipv6Addr::from_bits(first_of_v6(bits, prefix)))
        } else {
            let host = u32::MAX.unbounded_shr(prefix as u32);
            IpAddr::V4(Ipv4Addr::from_bits(self.low as u32 & !host))
        }
    }

    /// The length of that network's prefix, in bits.
    pub const fn prefix(&self) -> u8 {
        self.prefix
    }
}

#[cfg(feature = "alloc")]
const fn canonical(address: IpAddr) -> IpAddr {
    Origin::peer(address).address()
}

/// An IPv6 address in canonical form; one that stands for an IPv4 address as that, mapped.
// Here and below behind a call, in registers: it is long, and in the way of those who don't need it.
#[inline(never)]
const fn canonical_bits(address: Ipv6Addr) -> u128 {
    match address.to_canonical() {
        IpAddr::V6(v6) => match from_nat64(v6) {
            IpAddr::V6(v6) => v6.to_bits(),
            IpAddr::V4(v4) => MAPPED | v4.to_bits() as u128,
        },
        IpAddr::V4(v4) => MAPPED | v4.to_bits() as u128,
    }
}

/// `::ffff:0:0/96` (RFC 4291 §2.5.5.2).
const MAPPED: u128 = 0xffff << 32;

#[inline(never)]
const fn first_of_v6(bits: u128, prefix: u8) -> u128 {
    bits & !u128::MAX.unbounded_shr(prefix as u32)
}

const fn from_nat64(v6: Ipv6Addr) -> IpAddr {
    match v6.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let v4 = Ipv4Addr::from_bits((high as u32) << 16 | low as u32);
            if v4.is_private() || v4.is_loopback() || v4.is_link_local() {
                IpAddr::V6(v6)
            } else {
                IpAddr::V4(v4)
            }
        }
        _ => IpAddr::V6(v6),
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, prefix) = (self.address(), self.prefix);
        write!(f, "Origin({address} of /{prefix})")
    }
}

/// `network/prefix`, as in `203.0.113.7/32`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network(), self.prefix())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use proptest::prelude::*;
    use std::collections::HashSet;

    // Abuse 3: mapped addresses are their IPv4 addresses, each of them.
    #[test]
    fn mapped_addresses_are_ipv4() {
        let origin = |text: &str| Origin::peer(text.parse().unwrap());
        assert_eq!(origin("::ffff:1.2.3.4"), origin("1.2.3.4"));
        assert_eq!(origin("::ffff:102:304"), origin("1.2.3.4"));
        assert_ne!(origin("::ffff:1.2.3.4"), origin("::ffff:1.2.3.5"));
        assert_ne!(origin("2001:db8::1.2.3.4").network(), origin("1.2.3.4").network());
    }

    // Abuse 4: decided by bits, not by notation.
    #[test]
    fn nat64_addresses_are_ipv4_unless_they_would_pass_for_a_neighbour() {
        let origin = |text: &str| Origin::peer(text.parse().unwrap());
        assert_eq!(origin("64:ff9b::1.2.3.4"), origin("1.2.3.4"));
        assert_ne!(origin("64:ff9b::1.2.3.4").network(), origin("64:ff9b::9.9.9.9").network());
        for neighbour in ["10.0.0.1", "127.0.0.1", "169.254.1.1", "192.168.0.1"] {
            let mapped = origin(&format!("64:ff9b::{neighbour}"));
            assert!(mapped.address().is_ipv6(), "{mapped}");
        }
        assert!(origin("64:ff9b:1::1.2.3.4").address().is_ipv6());
    }

    /// An address as the text says of it what it stands for.
    fn obvious(address: IpAddr) -> IpAddr {
        let IpAddr::V6(v6) = address else { return address };
        let last: [u8; 4] = v6.octets()[12..].try_into().unwrap();
        let v4 = Ipv4Addr::from(last);
        let is_neighbour = v4.is_private() || v4.is_loopback() || v4.is_link_local();
        let reads = |prefix: &str| format!("{prefix}{v4}").parse() == Ok(v6);
        if reads("::ffff:") || reads("64:ff9b::") && !is_neighbour { IpAddr::V4(v4) } else { address }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn an_address_is_what_it_stands_for(
            // The highest 96 bits of what is mapped, of NAT64, of neither and of what is close to them.
            high in prop_oneof![
                Just(0xffff_u128),
                Just(0x64_ff9b << 64),
                Just(0),
                Just(0xfffe),
                Just(0x64_ff9b << 64 | 1),
                any::<u128>().prop_map(|bits| bits >> 32),
            ],
            low in prop_oneof![any::<u32>(), Just(0x0a00_0001), Just(0x7f00_0001), Just(0xa9fe_0001)],
        ) {
            let v6 = IpAddr::V6(Ipv6Addr::from_bits(high << 32 | u128::from(low)));
            for address in [v6, IpAddr::V4(Ipv4Addr::from_bits(low))] {
                let origin = Origin::peer(address);
                prop_assert_eq!(origin.address(), obvious(address));
                let prefix = if origin.address().is_ipv6() { 64 } else { 32 };
                prop_assert_eq!(origin.prefix(), prefix);
            }
        }
    }

    // Abuse 5: rotating inside one's own /64.
    #[test]
    fn a_network_is_one_caller() {
        let base = 0x2001_0db8_0001_0002_u128 << 64;
        let of = |bits: u128| Origin::peer(IpAddr::V6(Ipv6Addr::from_bits(bits))).network();
        let networks: HashSet<_> = (0..100_000).map(|host| of(base | (host * 0x1_0001_0001))).collect();
        assert_eq!(networks.len(), 1);
        assert_ne!(of(base), of(base + (1 << 64)));
    }
}
