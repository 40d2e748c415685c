use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use tollgate::{Key, Keyer, Origin};

/// How a report and the log name callers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub enum Addresses {
    /// By the network that is counted, `203.0.113.7`.
    Shown,
    /// By the network of 24 bits or, with IPv6, 48, which is no person's: `203.0.113.0/24`. The default.
    #[default]
    Truncated,
    /// By a keyed hash, `caller-3f6c92d1`: the same for a caller as long as the gate has the same [`Keyer`].
    Hashed,
}

impl Addresses {
    pub(crate) fn show(self, keyer: &Keyer, origin: Option<Origin>, caller: Key) -> Shown {
        match (self, origin) {
            (Self::Shown, Some(origin)) => Shown::Whole(origin),
            (Self::Truncated, Some(origin)) => Shown::Truncated(origin.network()),
            (Self::Hashed, _) | (_, None) => Shown::Hashed(id(keyer, caller)),
        }
    }
}

/// A caller's name as it is to be shown.
#[derive(Clone, Copy)]
pub(crate) enum Shown {
    Whole(Origin),
    Truncated(IpAddr),
    Hashed(Id),
}

/// A name for a caller that tells nothing of it, not even where its word is.
#[derive(Clone, Copy)]
pub(crate) struct Id(u32);

pub(crate) fn id(keyer: &Keyer, caller: Key) -> Id {
    let hashed = keyer.parts(&[b"shown", &caller.fingerprint().to_le_bytes()]);
    let [.., a, b, c, d] = hashed.fingerprint().to_be_bytes();
    Id(u32::from_be_bytes([a, b, c, d]))
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Without the length of a prefix where that is all of it.
            Self::Whole(origin) if origin.network() == origin.address() => write!(f, "{}", origin.address()),
            Self::Whole(origin) => write!(f, "{origin}"),
            Self::Truncated(IpAddr::V4(v4)) => {
                let [a, b, c, _] = v4.octets();
                write!(f, "{a}.{b}.{c}.0/24")
            }
            Self::Truncated(IpAddr::V6(v6)) => {
                let [a, b, c, ..] = v6.segments();
                write!(f, "{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
            }
            Self::Hashed(id) => write!(f, "caller-{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_as_much_as_it_says() {
        let keyer = Keyer::new(*b"a seed for tests");
        let shown = |addresses: Addresses, address: &str| {
            let origin = Origin::peer(address.parse().unwrap());
            addresses.show(&keyer, Some(origin), keyer.address(origin.network())).to_string()
        };
        for (address, whole, truncated) in [
            ("203.0.113.7", "203.0.113.7", "203.0.113.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ] {
            assert_eq!(shown(Addresses::Shown, address), whole);
            assert_eq!(shown(Addresses::Truncated, address), truncated);
            let hashed = shown(Addresses::Hashed, address);
            assert!(hashed.starts_with("caller-") && hashed.len() == 15, "{hashed}");
            // The table's own number of a caller is not to be seen.
            let key = keyer.address(Origin::peer(address.parse().unwrap()).network());
            assert!(!hashed.contains(&format!("{:08x}", key.fingerprint() >> 32)));
        }
        let user = Addresses::Shown.show(&keyer, None, keyer.bytes(b"a user"));
        assert!(user.to_string().starts_with("caller-"));
    }
}
