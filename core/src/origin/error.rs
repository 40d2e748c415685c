use core::error::Error;
use core::fmt;

use ipnet::IpNet;

use super::canonical;
use super::chain::MOST_ELEMENTS;

/// Why callers can't be found as configured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OriginError {
    /// The text is no network.
    NotANetwork,
    /// The address has bits beyond the prefix, so it is unclear which of the two is wrong.
    HostBits {
        /// What was given.
        given: IpNet,
        /// The network that the address is in.
        network: IpNet,
    },
    /// An IPv4-mapped network whose prefix ends before the IPv4 part: taken by its word it has all of IPv4 in it.
    Mapped {
        /// What was given.
        given: IpNet,
        /// The network that was probably meant.
        network: IpNet,
    },
    /// A network of NAT64 addresses that is no network of IPv4 addresses, or one of private hosts, which have none.
    Nat64 {
        /// What was given.
        given: IpNet,
    },
    /// More networks than there are places.
    TooManyNetworks {
        /// How many fit.
        capacity: usize,
    },
    /// The number of hops is 0 or more than 32.
    Hops {
        /// What was given.
        hops: u8,
    },
    /// Both networks and a number of hops.
    NetworksAndHops,
    /// Somebody is trusted to name the caller, and nothing that they say is read.
    TrustWithoutSource,
    /// A header is read, and nobody is trusted to have set it.
    SourceWithoutTrust,
    /// The prefix of IPv4 callers is out of its range.
    V4Prefix {
        /// What was given.
        prefix: u8,
    },
    /// The prefix of IPv6 callers is out of its range.
    V6Prefix {
        /// What was given.
        prefix: u8,
    },
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANetwork => f.write_str(
                "this is no network: write its first address and the length of its prefix, such as 10.0.0.0/8 or \
                 2001:db8::/32, or one address alone",
            ),
            Self::HostBits { given, network } => write!(
                f,
                "{given} has bits set beyond its prefix: write {network} for the network, or {} for the one address",
                canonical(given.addr())
            ),
            Self::Mapped { given, network } => write!(
                f,
                "{given} would hold every IPv4 address, since its prefix ends before the IPv4 part: write the IPv4 \
                 network itself, probably {network}"
            ),
            Self::Nat64 { given } => write!(
                f,
                "{given} lies in NAT64's 64:ff9b::/96 and can't be trusted as a network, since it reaches beyond \
                 the addresses of public IPv4 hosts: write the IPv4 network of the proxies itself"
            ),
            Self::TooManyNetworks { capacity } => write!(
                f,
                "more than {capacity} trusted networks: merge neighbouring ones, or use a larger Origins<N>"
            ),
            Self::Hops { hops } => write!(
                f,
                "{hops} trusted hops: use 1 to {MOST_ELEMENTS}, the number of your own proxies, of which the socket's peer \
                 is the first; without a proxy use the source Peer and trust nobody"
            ),
            Self::NetworksAndHops => {
                f.write_str("both trusted networks and trusted hops: choose one of them, networks if they are known")
            }
            Self::TrustWithoutSource => f.write_str(
                "proxies are trusted, yet no header is read: choose the one that they set, such as X-Forwarded-For, or \
                 trust nobody",
            ),
            Self::SourceWithoutTrust => f.write_str(
                "a header is to name the caller, yet nobody is trusted to set it, so it would never be read: trust the \
                 networks of your proxies or their number",
            ),
            Self::V4Prefix { prefix } => {
                write!(f, "an IPv4 caller of /{prefix}: use a prefix of 8 to 32 bits; /32 is one address")
            }
            Self::V6Prefix { prefix } => {
                write!(f, "an IPv6 caller of /{prefix}: use a prefix of 32 to 128 bits; /64 is one connection")
            }
        }
    }
}

impl Error for OriginError {}
