use std::time::Duration;

use tollgate::TrustedNetwork;

use crate::error::ProxyProtocolError;
use crate::proxy_protocol::ProxyProtocol;

/// Settings of a [`ProxyProtocol`]. At least one network has to be trusted.
///
/// ```
/// use tollgate_proxy_protocol::ProxyProtocol;
///
/// let error = ProxyProtocol::builder().trust_network("10.1.2.3/8").build().unwrap_err();
/// assert!(error.to_string().contains("write 10.0.0.0/8 for the network"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder reads no header: call build()"]
pub struct ProxyProtocolBuilder {
    networks: Vec<TrustedNetwork>,
    deadline: Duration,
    /// The first thing that was wrong, for `build` to tell.
    wrong: Option<ProxyProtocolError>,
}

impl ProxyProtocol {
    /// Begins with nobody trusted.
    pub fn builder() -> ProxyProtocolBuilder {
        ProxyProtocolBuilder { networks: Vec::new(), deadline: Self::DEFAULT_DEADLINE, wrong: None }
    }
}

impl ProxyProtocolBuilder {
    /// Trusts the hosts of a network, `10.0.0.0/8` or one address, to say who is calling.
    ///
    /// # Security
    /// Whoever can connect from such an address can be anybody. Name your proxies and nothing wider.
    pub fn trust_network(mut self, network: impl AsRef<str>) -> Self {
        let network = network.as_ref();
        match network.parse() {
            Ok(network) => self.networks.push(network),
            Err(error) => {
                self.wrong.get_or_insert(ProxyProtocolError::Network { network: network.into(), error });
            }
        }
        self
    }

    /// How long a trusted peer has for its whole header, from when it is accepted. The default is
    /// [`ProxyProtocol::DEFAULT_DEADLINE`].
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// If any setting can't work; the first is told, with what to do.
    pub fn build(self) -> Result<ProxyProtocol, ProxyProtocolError> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        if self.networks.is_empty() {
            return Err(ProxyProtocolError::NobodyTrusted);
        }
        if self.deadline.is_zero() {
            return Err(ProxyProtocolError::NoTime);
        }
        Ok(ProxyProtocol::new(self.networks, self.deadline))
    }
}
