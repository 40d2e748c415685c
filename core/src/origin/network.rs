use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::{OriginError, canonical};

/// A network whose hosts are trusted to name the callers they speak for.
///
/// It is read from text, `10.0.0.0/8` or one address alone, or made of an [`IpNet`]; either way only a network that can
/// be meant as it stands is one. An IPv4-mapped network is the IPv4 network, and an address is canonical before it is
/// compared, as in [`Origin`](crate::Origin): so an IPv6 network, even `::/0`, has no IPv4 host in it, mapped or not.
///
/// ```
/// use tollgate::TrustedNetwork;
/// let proxies: TrustedNetwork = "10.0.0.0/8".parse()?;
/// assert!(proxies.contains("::ffff:10.0.0.1".parse()?));
/// assert_eq!("::ffff:10.0.0.0/104".parse(), Ok(proxies));
///
/// let error = "10.0.0.1/8".parse::<TrustedNetwork>().unwrap_err();
/// assert!(error.to_string().contains("write 10.0.0.0/8 for the network"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Security
/// Whoever can send from a trusted network can choose whose budget it uses. `0.0.0.0/0` and `::/0` trust everybody.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TrustedNetwork(IpNet);

impl TrustedNetwork {
    /// A trusted network.
    ///
    /// # Errors
    /// If bits are set beyond the prefix; if it is an IPv4-mapped network whose prefix is under 96; if it lies in
    /// NAT64's `64:ff9b::/96` and is not a network of public IPv4 hosts, since only their addresses are IPv4's.
    pub fn new(given: IpNet) -> Result<Self, OriginError> {
        let network = match given {
            IpNet::V4(_) => given,
            IpNet::V6(v6) => embedded(v6)?,
        };
        if network.trunc() != network {
            return Err(OriginError::HostBits { given, network: network.trunc() });
        }
        Ok(Self(network))
    }

    /// Whether the address, in whatever form, is of this network.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&canonical(address))
    }

    /// The network, of IPv4 if it was given as a mapped one.
    pub const fn network(&self) -> IpNet {
        self.0
    }
}

/// The IPv4 network that an IPv6 network stands for, or itself if it stands for none.
fn embedded(given: Ipv6Net) -> Result<IpNet, OriginError> {
    let (mapped, nat64) = (MAPPED.contains(&given.addr()), NAT64.contains(&given.addr()));
    if !mapped && !nat64 {
        return Ok(given.into());
    }
    let [.., a, b, c, d] = given.addr().octets();
    let v4 = |prefix| Ipv4Net::new(Ipv4Addr::new(a, b, c, d), prefix).ok();
    let meant = given.prefix_len().checked_sub(MAPPED.prefix_len()).and_then(v4);
    match meant {
        Some(v4) if mapped || !NEIGHBOURS.iter().any(|range| range.contains(&v4) || v4.contains(range)) => {
            Ok(v4.into())
        }
        _ if nat64 => Err(OriginError::Nat64 { given: given.into() }),
        // `::ffff:10.0.0.0/8` is 10.0.0.0/8, written by somebody who forgot to add 96.
        _ => {
            let host = Ipv4Net::from(Ipv4Addr::new(a, b, c, d));
            let network = v4(given.prefix_len()).unwrap_or(host).trunc().into();
            Err(OriginError::Mapped { given: given.into(), network })
        }
    }
}

const MAPPED: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96);
const NAT64: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);
/// The hosts whose NAT64 addresses stay IPv6.
const NEIGHBOURS: [Ipv4Net; 5] = [
    Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(172, 16, 0, 0), 12),
    Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 0, 0), 16),
];

impl TryFrom<IpNet> for TrustedNetwork {
    type Error = OriginError;

    fn try_from(network: IpNet) -> Result<Self, OriginError> {
        Self::new(network)
    }
}

/// `address/prefix`, or an address alone; no white space, no zone, no leading zeros.
impl FromStr for TrustedNetwork {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        let network = match text.split_once('/') {
            Some((address, prefix)) if is_number(prefix) => {
                address.parse().ok().zip(prefix.parse().ok()).and_then(|(ip, bits)| IpNet::new(ip, bits).ok())
            }
            Some(_) => None,
            None => text.parse::<IpAddr>().ok().map(IpNet::from),
        };
        Self::new(network.ok_or(OriginError::NotANetwork)?)
    }
}

/// Digits without a sign or leading zeros.
fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
}

impl fmt::Display for TrustedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for TrustedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
