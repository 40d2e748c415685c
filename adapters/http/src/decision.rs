use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tollgate::{Nanos, Origin, Refusal, Service, Standing, Verdict};

use crate::mode::Mode;
use crate::refunds::Refunds;

/// What a gate decided about one request: who calls, from where, and what the limit says.
///
/// Adapters put it into the request's extensions for handlers and into a refusal's extensions for outer layers.
/// Clones share it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a decision that nobody heeds limits nobody"]
pub struct Decision(pub(crate) Arc<Parts>);

/// What a decision comes to. It is put together in one place and shared, since a request's way through an adapter would move
/// it a dozen times.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Parts {
    pub(crate) gate: usize,
    pub(crate) identity: Identity,
    pub(crate) origin: Option<Origin>,
    pub(crate) outcome: Outcome,
    /// Which of the gate's classes the caller is of.
    pub(crate) class: Option<u8>,
    /// When it was.
    pub(crate) now: Nanos,
    pub(crate) mode: Mode,
    pub(crate) lacks_peer: bool,
    pub(crate) refunds: Refunds,
}

/// What became of a request.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// No policy has seen it.
    Uncounted,
    Exempt(Service),
    /// Where the caller stands with each of the gate's policies.
    Admitted(Standings),
    /// By what; and how much remains, which is something if only this request's cost was too much.
    Refused {
        by: By,
        refusal: Refusal,
        remaining: u32,
    },
}

/// Standings with one policy in place, as most gates have it, so that a decision is short.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Standings {
    One([Standing; 1]),
    Several(Box<[Standing]>),
}

impl Deref for Standings {
    type Target = [Standing];

    fn deref(&self) -> &[Standing] {
        match self {
            Self::One(only) => only,
            Self::Several(standings) => standings,
        }
    }
}

/// What refused a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// One of the gate's policies.
    Policy(usize),
    /// The limit of requests under way.
    InFlight,
}

impl Decision {
    /// Whom the request's credential names.
    pub fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// The caller's address and network, exempt or not; `None` if the peer is not known.
    pub fn origin(&self) -> Option<Origin> {
        self.0.origin
    }

    /// The limiter's verdict; `None` in [`Mode::Off`]. In [`Mode::Shadow`] it may be a refusal of a request that
    /// passes. Of several policies that admit the request, it is where the caller stands with the one of which the
    /// least is left.
    pub fn verdict(&self) -> Option<Verdict> {
        match &self.0.outcome {
            Outcome::Uncounted => None,
            Outcome::Exempt(service) => Some(Verdict::Exempt(*service)),
            Outcome::Admitted(standings) => {
                let share =
                    |standing: &Standing| f64::from(standing.remaining) / f64::from(standing.limit.max(1));
                let closest = standings.iter().min_by(|one, other| share(one).total_cmp(&share(other)));
                closest.copied().map(Verdict::Admitted)
            }
            Outcome::Refused { refusal, .. } => Some(Verdict::Refused(*refusal)),
        }
    }

    /// Where the caller stands with each policy, in the gate's order; none unless the request is admitted. As it was when
    /// that was decided, whatever was given back later.
    pub fn standings(&self) -> &[Standing] {
        match &self.0.outcome {
            Outcome::Admitted(standings) => standings,
            _ => &[],
        }
    }

    /// The refusal to answer with, if the request is not to pass.
    pub fn refusal(&self) -> Option<Refusal> {
        match self.0.outcome {
            Outcome::Refused { refusal, .. } if self.0.mode == Mode::Enforce => Some(refusal),
            _ => None,
        }
    }

    /// Whether the request should have been counted and was not, since its peer is not known: in [`Mode::Shadow`],
    /// which refuses nobody.
    pub fn lacks_peer(&self) -> bool {
        self.0.lacks_peer
    }

    /// Whether a policy has seen the request: it is neither exempt nor skipped, and the gate is not off.
    pub fn is_counted(&self) -> bool {
        matches!(self.0.outcome, Outcome::Admitted(_) | Outcome::Refused { .. })
    }

    /// Whether the request is refused, or would be if the gate were not in [`Mode::Shadow`].
    pub fn is_over_limit(&self) -> bool {
        matches!(self.0.outcome, Outcome::Refused { .. })
    }

    /// Whether the request may go on.
    pub fn passes(&self) -> bool {
        self.refusal().is_none()
    }
}

/// Whom a request's credential names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[must_use = "a credential that was checked and not heeded protects nothing"]
pub enum Identity {
    /// The request carries no credential, as ordinary callers' don't.
    Absent,
    /// It carries something that is no secret of ours, or two credentials at once.
    Forged,
    /// It carries the secret of one of our services.
    Service(ServiceName),
}

impl Identity {
    /// The service's name, if it is one.
    pub fn service(&self) -> Option<&str> {
        match self {
            Self::Service(name) => Some(name.as_str()),
            Self::Absent | Self::Forged => None,
        }
    }
}

/// The name of a service, as the gate's builder was given it: 1 to 32 bytes, which its copies share.
///
/// Only a gate makes one, from a secret that it has checked.
#[derive(Clone, PartialEq, Eq, Hash)]
// One pointer, so that a decision is short.
pub struct ServiceName(Arc<Box<str>>);

impl ServiceName {
    pub(crate) fn new(name: &str) -> Self {
        Self(Arc::new(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceName({:?})", self.as_str())
    }
}

/// The address of a caller that must be counted is not known.
///
/// That is a mistake in how the server is put together, not the caller's: one budget for everybody would lock out
/// all for one, and passing would be no limit. So it is answered with 500, and an adapter logs it with the setting
/// that is missing in its framework.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the caller's address is not known, so it can't be counted: give the gate the socket's peer address")]
pub struct NoPeer;
