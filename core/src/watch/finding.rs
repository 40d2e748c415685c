use core::fmt;

use super::seen::Seen;

/// What a throttled caller looks like. The first rule that holds decides:
///
/// | # | finding | rule |
/// |---|---|---|
/// | 1 | forging | at least 3 distinct false credentials, in at least a quarter of its sightings |
/// | 2 | own service, its secret fails | at least 8 sightings with a false credential, a quarter of all, and 1 or 2 distinct ones |
/// | 3 | own service, by its routes | at least 8 sightings of internal routes, and half of all |
/// | 4 | shared address | at least 8 distinct callers behind it |
/// | 5 | one caller | none of these |
///
/// A service whose secret was rotated or mistyped presents one and the same value each time, or two while instances are
/// replaced; who guesses presents many. So the number of distinct values tells them apart, and comes before the routes,
/// since who guesses does so on internal ones. Below a quarter, or a half, it is what some do who share an address.
///
/// # Security
/// All of it can be feigned but the address. A guesser that repeats one guess looks like a service whose secret fails, a
/// script that looks for internal routes like one that has no secret, a script that changes its user agent like a crowd;
/// and a service that mints a token for each request looks like a guesser. A finding says where to look.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Finding {
    /// Nothing points to more than one caller.
    OneCaller,
    /// Several callers share the address: an office, a provider's gateway, a proxy that you don't trust yet.
    SharedAddress,
    /// It looks like a service of yours: a limit lands on the wrong caller.
    OwnService(Clue),
    /// Somebody makes up credentials.
    Forging,
}

/// What makes a caller look like your own service.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Clue {
    /// The same one or two credentials fail all the time.
    SecretFails,
    /// It keeps asking for internal routes.
    InternalRoutes,
}

impl Finding {
    /// Distinct callers from which an address is shared: a household has fewer devices at a time, an office more. Eight
    /// bits of 64 can't be set by fewer, so nobody is taken for a crowd by chance.
    pub const SHARED_FROM: u16 = 8;
    /// Sightings from which a failing credential, or the use of internal routes, is steady and no accident.
    pub const STEADY_FROM: u32 = 8;
    /// Distinct false credentials that one service may have: the secret before the last and the last.
    pub const SECRETS_OF_A_SERVICE: u8 = 2;
    /// A caller that makes up credentials, or whose secret fails, does so in one of so many sightings.
    pub const FORGED_ONE_IN: u32 = 4;
    /// A service asks for internal routes in one of so many sightings.
    pub const INTERNAL_ONE_IN: u32 = 2;

    pub(super) const fn of(seen: &Seen) -> Self {
        let forges = seen.forged > 0 && seen.forged >= seen.sightings.div_ceil(Self::FORGED_ONE_IN);
        if forges && seen.credentials > Self::SECRETS_OF_A_SERVICE {
            Self::Forging
        } else if forges && seen.forged >= Self::STEADY_FROM {
            Self::OwnService(Clue::SecretFails)
        } else if seen.internal >= Self::STEADY_FROM
            && seen.internal >= seen.sightings.div_ceil(Self::INTERNAL_ONE_IN)
        {
            Self::OwnService(Clue::InternalRoutes)
        } else if seen.callers >= Self::SHARED_FROM {
            Self::SharedAddress
        } else {
            Self::OneCaller
        }
    }

    /// Whether it looks like your own: fix the credential or the limit's settings, not the number.
    pub const fn is_own(self) -> bool {
        matches!(self, Self::OwnService(_))
    }

    /// What the finding rests on, for people.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::OneCaller => "nothing points to more than one caller",
            Self::SharedAddress => "8 or more distinct callers stand behind it",
            Self::OwnService(Clue::SecretFails) => {
                "the same credential fails all the time: was it rotated or mistyped?"
            }
            Self::OwnService(Clue::InternalRoutes) => {
                "it keeps asking for internal routes: does it present its secret?"
            }
            Self::Forging => "it presents one false credential after another",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneCaller => "one caller",
            Self::SharedAddress => "shared address",
            Self::OwnService(_) => "looks like your own service",
            Self::Forging => "forging",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::time::Nanos;

    fn finding((sightings, forged, internal): (u32, u32, u32), callers: u16, credentials: u8) -> Finding {
        Seen {
            key: Key::from_fingerprint(1),
            origin: None,
            refused: sightings,
            missed: 0,
            first: Nanos::ZERO,
            last: Nanos::ZERO,
            sightings,
            forged,
            internal,
            callers,
            credentials,
        }
        .finding()
    }

    // Each threshold from both sides, and each rule before the ones after it.
    #[test]
    fn the_table_is_as_documented() {
        const SECRET: Finding = Finding::OwnService(Clue::SecretFails);
        const ROUTES: Finding = Finding::OwnService(Clue::InternalRoutes);
        for (counts, callers, credentials, expected) in [
            ((1, 0, 0), 0, 0, Finding::OneCaller),
            ((900, 0, 0), 7, 0, Finding::OneCaller),
            ((900, 0, 0), 8, 0, Finding::SharedAddress),
            // Forging.
            ((3, 3, 0), 1, 3, Finding::Forging),
            ((12, 3, 0), 1, 3, Finding::Forging),
            ((13, 3, 0), 1, 3, Finding::OneCaller),
            ((13, 3, 0), 8, 3, Finding::SharedAddress),
            ((100, 100, 100), 30, 3, Finding::Forging),
            // A secret that fails.
            ((8, 8, 0), 1, 1, SECRET),
            ((7, 7, 0), 1, 1, Finding::OneCaller),
            ((8, 7, 0), 1, 1, Finding::OneCaller),
            ((32, 8, 0), 1, 2, SECRET),
            ((33, 8, 0), 1, 2, Finding::OneCaller),
            ((100, 100, 100), 30, 2, SECRET),
            // Internal routes.
            ((8, 0, 8), 1, 0, ROUTES),
            ((7, 0, 7), 1, 0, Finding::OneCaller),
            ((16, 0, 8), 30, 0, ROUTES),
            ((17, 0, 8), 30, 0, Finding::SharedAddress),
            ((17, 0, 8), 1, 0, Finding::OneCaller),
            ((100, 7, 100), 30, 7, ROUTES),
        ] {
            let found = finding(counts, callers, credentials);
            assert_eq!(found, expected, "{counts:?}, {callers} callers, {credentials} credentials");
            assert_eq!(found.is_own(), expected == SECRET || expected == ROUTES);
        }
    }
}
