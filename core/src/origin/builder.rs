use heapless::Vec;

use super::chain::MOST_ELEMENTS;
use super::error::OriginError;
use super::network::TrustedNetwork;
use super::origins::Origins;
use super::prefixes::Prefixes;
use super::source::Source;
use super::trust::Trust;

/// What [`Origins`] are built from; see [`Origins::from_source`].
#[derive(Clone, Debug)]
#[must_use = "nothing is configured before `build`"]
pub struct OriginsBuilder<const N: usize = 64> {
    source: Source,
    networks: Vec<TrustedNetwork, N>,
    overfull: bool,
    hops: Option<u8>,
    v4_prefix: u8,
    v6_prefix: u8,
}

impl<const N: usize> OriginsBuilder<N> {
    pub(super) const fn new(source: Source) -> Self {
        let (v4_prefix, v6_prefix) = (Prefixes::DEFAULT.v4(), Prefixes::DEFAULT.v6());
        Self { source, networks: Vec::new(), overfull: false, hops: None, v4_prefix, v6_prefix }
    }

    /// Trusts the hops whose addresses are in this network, too.
    ///
    /// # Security
    /// Nobody but your own proxies may be able to send from it: whoever can chooses whose budget it uses.
    pub fn trust_network(mut self, network: TrustedNetwork) -> Self {
        self.overfull |= self.networks.push(network).is_err();
        self
    }

    /// Trusts the nearest 1 to 32 hops whatever their addresses; the socket's peer is the first. A chain that is shorter
    /// gives its furthest address.
    ///
    /// # Security
    /// Every request must come through that many proxies of yours: whoever reaches the server past one of them
    /// chooses whose budget it uses. Where the proxies' networks are known, trust those instead.
    pub const fn trust_hops(mut self, hops: u8) -> Self {
        self.hops = Some(hops);
        self
    }

    /// How many bits of an IPv4 address are one caller: 8 to 32, by default 32; see [`Prefixes`].
    pub const fn v4_prefix(mut self, bits: u8) -> Self {
        self.v4_prefix = bits;
        self
    }

    /// How many bits of an IPv6 address are one caller: 32 to 128, by default 64; see [`Prefixes`].
    pub const fn v6_prefix(mut self, bits: u8) -> Self {
        self.v6_prefix = bits;
        self
    }

    /// Checks all of it.
    ///
    /// # Errors
    /// If a header is read and nobody is trusted, or somebody is trusted and no header is read; if both networks and
    /// hops are trusted, more than `N` networks, no hop, or more than 32; if a prefix is out of its range.
    pub fn build(self) -> Result<Origins<N>, OriginError> {
        let prefixes = Prefixes::new(self.v4_prefix, self.v6_prefix)?;
        if self.overfull {
            return Err(OriginError::TooManyNetworks { capacity: N });
        }
        let trust = match (self.hops, self.networks.is_empty()) {
            (None, true) => Trust::Nobody,
            (None, false) => Trust::Networks(self.networks),
            (Some(hops @ 1..=MOST_ELEMENTS), true) => Trust::Hops(hops),
            (Some(hops), true) => return Err(OriginError::Hops { hops }),
            (Some(_), false) => return Err(OriginError::NetworksAndHops),
        };
        match (self.source, &trust) {
            (Source::Peer, Trust::Nobody) => {}
            (Source::Peer, _) => return Err(OriginError::TrustWithoutSource),
            (_, Trust::Nobody) => return Err(OriginError::SourceWithoutTrust),
            _ => {}
        }
        Ok(Origins::new(self.source, trust, prefixes))
    }
}
