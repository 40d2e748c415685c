use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::origin::{Origin, Prefixes};

/// How often a caller was seen and what it did then, with the form of its address:
/// `[ family 2 | prefix 8 | sightings 18 | forged 18 | internal 18 ]`.
///
/// When the sightings are at their most, all three counts are halved: the shares stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shares(u64);

impl Shares {
    /// No sighting yet of a caller with this origin.
    pub(super) const fn of(origin: Option<Origin>) -> Self {
        let (family, prefix) = match origin {
            None => (0, 0),
            Some(origin) => match origin.address() {
                IpAddr::V4(_) => (V4, origin.prefix()),
                IpAddr::V6(_) => (V6, origin.prefix()),
            },
        };
        Self(family << FAMILY_SHIFT | (prefix as u64) << PREFIX_SHIFT)
    }

    #[inline]
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    /// One sighting more.
    #[inline]
    pub(super) const fn with(self, forged: bool, internal: bool) -> Self {
        let form = self.0 & !COUNTS;
        let counts = match self.sightings() {
            // What is halved leaves its lowest bit to its neighbour on the right.
            MOST => (self.0 & COUNTS) >> 1 & HALVES,
            _ => self.0 & COUNTS,
        };
        Self(form | (counts + SIGHTING + forged as u64 * FORGED + internal as u64))
    }

    pub(super) const fn sightings(self) -> u32 {
        self.count(2)
    }

    pub(super) const fn forged(self) -> u32 {
        self.count(1)
    }

    pub(super) const fn internal(self) -> u32 {
        self.count(0)
    }

    const fn count(self, place: u32) -> u32 {
        let [a, b, c, ..] = (self.0 >> (place * BITS) & MOST as u64).to_le_bytes();
        u32::from_le_bytes([a, b, c, 0])
    }

    /// The origin whose address is in two words beside this one.
    pub(super) fn origin(self, high: u64, low: u64) -> Option<Origin> {
        let prefix = (self.0 >> PREFIX_SHIFT).to_le_bytes()[0];
        let address = match self.0 >> FAMILY_SHIFT {
            V4 => {
                let [a, b, c, d, ..] = low.to_le_bytes();
                IpAddr::V4(Ipv4Addr::from_bits(u32::from_le_bytes([a, b, c, d])))
            }
            V6 => IpAddr::V6(Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low))),
            _ => return None,
        };
        Some(Origin::peer(address).at(prefixes(address, prefix)))
    }
}

/// The two words of an address.
pub(super) fn halves(origin: Option<Origin>) -> (u64, u64) {
    match origin.map(|origin| origin.address()) {
        None => (0, 0),
        Some(IpAddr::V4(v4)) => (0, u64::from(v4.to_bits())),
        Some(IpAddr::V6(v6)) => {
            let half = |bits: u128| u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default();
            (half(v6.to_bits() >> 64), half(v6.to_bits()))
        }
    }
}

#[cfg(feature = "alloc")]
fn prefixes(address: IpAddr, prefix: u8) -> Prefixes {
    let (v4, v6) = match address {
        IpAddr::V4(_) => (prefix, Prefixes::DEFAULT.v6()),
        IpAddr::V6(_) => (Prefixes::DEFAULT.v4(), prefix),
    };
    Prefixes::new(v4, v6).unwrap_or_default()
}

/// Without the feature `alloc` there are no others.
#[cfg(not(feature = "alloc"))]
fn prefixes(_: IpAddr, _: u8) -> Prefixes {
    Prefixes::DEFAULT
}

const BITS: u32 = 18;
/// Sightings at which the counts are halved.
const MOST: u32 = (1 << BITS) - 1;
const SIGHTING: u64 = 1 << (2 * BITS);
const FORGED: u64 = 1 << BITS;
const COUNTS: u64 = (1 << (3 * BITS)) - 1;
/// Each count without its highest bit.
const HALVES: u64 = (MOST as u64 >> 1) * (SIGHTING | FORGED | 1);
const PREFIX_SHIFT: u32 = 3 * BITS;
const FAMILY_SHIFT: u32 = PREFIX_SHIFT + 8;
const V4: u64 = 1;
const V6: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    // The oracle counts in numbers of its own.
    #[test]
    fn counts_are_exact_till_they_are_halved_and_leave_the_origin_alone() {
        let origin = Some(Origin::peer([203, 0, 113, 7].into()));
        let (mut shares, mut counts) = (Shares::of(origin), [0; 3]);
        for number in 0..600_000_u32 {
            let (forged, internal) = (number % 3 != 0, number % 7 == 0);
            if counts[0] == MOST {
                counts = counts.map(|count| count / 2);
            }
            counts = [counts[0] + 1, counts[1] + u32::from(forged), counts[2] + u32::from(internal)];
            shares = shares.with(forged, internal);
            assert_eq!([shares.sightings(), shares.forged(), shares.internal()], counts);
        }
        let (high, low) = halves(origin);
        assert_eq!(shares.origin(high, low), origin);
    }

    #[test]
    fn origins_come_back() {
        for text in
            ["0.0.0.0", "203.0.113.7", "255.255.255.255", "::", "2001:db8:1:2:3:4:5:6", "64:ff9b::10.0.0.1"]
        {
            let origin = Origin::peer(text.parse().unwrap());
            let (high, low) = halves(Some(origin));
            assert_eq!(Shares::of(Some(origin)).origin(high, low), Some(origin));
        }
        assert_eq!(Shares::of(None).with(true, true).origin(1, 1), None);
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn prefixes_come_back() {
        for (v4, v6) in [(8, 32), (24, 128), (32, 56)] {
            for text in ["203.0.113.7", "2001:db8:1:2:3:4:5:6"] {
                let origin = Origin::peer(text.parse().unwrap()).at(Prefixes::new(v4, v6).unwrap());
                let (high, low) = halves(Some(origin));
                assert_eq!(Shares::of(Some(origin)).origin(high, low), Some(origin));
            }
        }
    }
}
