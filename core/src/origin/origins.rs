use core::net::IpAddr;

use super::builder::OriginsBuilder;
use super::chain::{Chain, MOST_BYTES};
use super::list::trim;
use super::prefixes::Prefixes;
use super::source::Source;
use super::trust::Trust;
use super::{Origin, node};

/// How the callers' addresses are found: where they are read, who is trusted to say them, and how much of an address is
/// one caller. There is room for `N` trusted networks.
///
/// By default the caller is the socket's peer. Behind proxies it is what they say, and they are trusted by their
/// networks or by their number:
/// ```
/// use tollgate::{Origins, Source};
/// let origins: Origins = Origins::from_source(Source::XForwardedFor)
///     .trust_network("10.0.0.0/8".parse()?)
///     .v6_prefix(56)
///     .build()?;
/// let proxy = "10.0.0.1".parse()?;
/// let caller = origins.origin(proxy, [&b"6.6.6.6, 198.51.100.1"[..]]);
/// assert_eq!(caller.to_string(), "198.51.100.1/32");
/// // Nobody else is believed.
/// let stranger = "203.0.113.7".parse()?;
/// assert_eq!(origins.origin(stranger, [&b"198.51.100.1"[..]]).to_string(), "203.0.113.7/32");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Rules
/// 1. The peer is the first hop. The last element, over all lines of the field, is the address from which it was reached:
///    the second hop, and so on to the left.
/// 2. While the hop is trusted, its element is the next one. The first hop that is not trusted is the caller.
/// 3. An element that is no address (`unknown`, an obfuscated name, garbage, an element without a `for`) ends the walk,
///    and so does the end of the chain: the hop that vouched for it is the caller.
/// 4. Empty elements are skipped. At most 32 elements, empty ones included, and 16 KiB of the field are looked at.
/// 5. A header that holds one address is believed if it is there once and has at most 16 KiB.
///
/// # Security
/// Nothing left of the caller's own element, which is all that a caller can write, changes the answer. Where a proxy passes
/// the field on instead of appending to it, callers write that element themselves.
#[derive(Clone, Debug)]
pub struct Origins<const N: usize = 64> {
    source: Source,
    trust: Trust<N>,
    prefixes: Prefixes,
}

impl<const N: usize> Origins<N> {
    /// Callers are the sockets' peers, at the default prefixes.
    pub const fn peer() -> Self {
        Self::new(Source::Peer, Trust::Nobody, Prefixes::DEFAULT)
    }

    pub(super) const fn new(source: Source, trust: Trust<N>, prefixes: Prefixes) -> Self {
        Self { source, trust, prefixes }
    }

    /// Begins to describe how callers are found; every source but [`Source::Peer`] needs somebody to be trusted.
    pub const fn from_source(source: Source) -> OriginsBuilder<N> {
        OriginsBuilder::new(source)
    }

    /// Who calls. `lines` are the values of all lines of the source's field, in the order in which they came; give none
    /// for [`Source::Peer`], which does not look at them.
    ///
    /// # Security
    /// The answer is as good as what is trusted. Give the lines of that field alone, by its exact name in any case, and all
    /// of them: a proxy may append a line of its own to those that the caller sent.
    pub fn origin<'r, I>(&self, peer: IpAddr, lines: I) -> Origin
    where
        I: IntoIterator<Item = &'r [u8]>,
        I::IntoIter: DoubleEndedIterator,
    {
        let mut lines = lines.into_iter();
        let caller = match self.source {
            Source::Peer => Origin::peer(peer),
            Source::Header => match (lines.next_back(), lines.next_back()) {
                (Some(only), None) if only.len() <= MOST_BYTES => self.walk(peer, [node::any(trim(only))]),
                _ => Origin::peer(peer),
            },
            Source::XForwardedFor | Source::Forwarded => self.walk(peer, Chain::new(self.source, lines)),
        };
        caller.at(self.prefixes)
    }

    fn walk(&self, peer: IpAddr, elements: impl IntoIterator<Item = Option<IpAddr>>) -> Origin {
        let mut caller = Origin::peer(peer);
        let mut elements = elements.into_iter();
        let mut hop = 1_u8;
        while self.trust.includes(hop, caller.address())
            && let Some(Some(address)) = elements.next()
        {
            caller = Origin::peer(address);
            hop = hop.saturating_add(1);
        }
        caller
    }

    /// Whether this peer may say who calls; every peer may if hops are trusted by their number.
    pub fn is_trusted(&self, peer: IpAddr) -> bool {
        self.trust.includes(1, peer)
    }

    /// Whether anybody may.
    pub const fn trusts_anybody(&self) -> bool {
        !matches!(self.trust, Trust::Nobody)
    }

    /// Where the caller's address is read.
    pub const fn source(&self) -> Source {
        self.source
    }

    /// How much of an address is one caller.
    pub const fn prefixes(&self) -> Prefixes {
        self.prefixes
    }
}

impl<const N: usize> Default for Origins<N> {
    fn default() -> Self {
        Self::peer()
    }
}
