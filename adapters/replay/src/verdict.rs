use std::fmt;

use serde::Serialize;
use tollgate::Finding;

/// Who is behind a refused caller, by what the log shows of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is marked as one's own, or internal routes let it in again and again.
    OwnService,
    /// Internal routes turned it away again and again: somebody makes up tokens, or a service's secret is out of date.
    Forging,
    /// Many seem to be behind one address: a proxy, an office, a mobile network.
    SharedAddress,
    /// Nothing speaks against it being one.
    OneCaller,
}

/// What a verdict rests on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Evidence {
    /// Requests that were marked as one's own.
    pub own: u32,
    /// Requests that internal routes answered.
    pub internal: u32,
    /// Requests that internal routes turned away with 401 or 403.
    pub denied: u32,
    /// How many different user agents it showed, about.
    pub distinct: u32,
}

impl Evidence {
    /// The verdict, by the first of these that holds:
    ///
    /// 1. a request is marked as one's own, or three or more were let in by internal routes and more than were turned
    ///    away: [`Verdict::OwnService`];
    /// 2. three or more were turned away by internal routes: [`Verdict::Forging`];
    /// 3. eight or more are behind it, by their user agents: [`Verdict::SharedAddress`];
    /// 4. otherwise: [`Verdict::OneCaller`].
    ///
    /// # Security
    /// One caller can show many user agents and so pass for many. What a verdict is for is to look, not to exempt.
    pub const fn verdict(&self) -> Verdict {
        if self.own > 0 || self.internal >= REPEATEDLY && self.internal > self.denied {
            Verdict::OwnService
        } else if self.denied >= REPEATEDLY {
            Verdict::Forging
        } else if self.distinct >= MANY {
            Verdict::SharedAddress
        } else {
            Verdict::OneCaller
        }
    }
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OwnService, Self::Forging, Self::SharedAddress, Self::OneCaller];

    /// What to do about it.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::OwnService => "give it a credential, and it is not counted",
            Self::Forging => "let it be refused; if it is yours, its secret is out of date",
            Self::SharedAddress => "tell its users apart by who they are, not by address",
            Self::OneCaller => "this is whom the limit is for",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OwnService => "looks like your own service",
            Self::Forging => "forging",
            Self::SharedAddress => "shared address",
            Self::OneCaller => "one caller",
        })
    }
}

/// How many different hints make an address a shared one: as many as for the limiter's own list.
const MANY: u32 = Finding::SHARED_FROM as u32;
/// How often is again and again.
const REPEATEDLY: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_hold() {
        let verdict =
            |own, internal, denied, distinct| Evidence { own, internal, denied, distinct }.verdict();
        assert_eq!(verdict(0, 0, 0, 1), Verdict::OneCaller);
        assert_eq!(verdict(0, 0, 0, 7), Verdict::OneCaller);
        assert_eq!(verdict(0, 0, 0, 8), Verdict::SharedAddress);
        assert_eq!(verdict(0, 2, 2, 7), Verdict::OneCaller);
        assert_eq!(verdict(0, 3, 0, 1), Verdict::OwnService);
        assert_eq!(verdict(0, 3, 3, 1), Verdict::Forging);
        assert_eq!(verdict(0, 0, 3, 9), Verdict::Forging);
        assert_eq!(verdict(1, 0, 9, 9), Verdict::OwnService);
    }
}
