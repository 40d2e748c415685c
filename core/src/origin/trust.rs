use core::net::IpAddr;

use heapless::Vec;

use super::network::TrustedNetwork;

/// Who is trusted to say where a request came from.
#[derive(Clone, Debug)]
pub(super) enum Trust<const N: usize> {
    Nobody,
    /// So many hops, the nearest first, whatever their addresses.
    Hops(u8),
    Networks(Vec<TrustedNetwork, N>),
}

impl<const N: usize> Trust<N> {
    /// Whether a hop is trusted; the socket's peer is hop 1.
    pub(super) fn includes(&self, hop: u8, address: IpAddr) -> bool {
        match self {
            Self::Nobody => false,
            Self::Hops(hops) => hop <= *hops,
            Self::Networks(networks) => networks.iter().any(|network| network.contains(address)),
        }
    }
}
