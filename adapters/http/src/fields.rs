//! `RateLimit-Policy` and `RateLimit`, as draft-ietf-httpapi-ratelimit-headers-10 has them.

use std::fmt;

use tollgate::Nanos;

use crate::text::{List, list, text};

/// One field of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field<'a> {
    /// Its name, in lower case.
    pub name: &'a str,
    /// Its value, printable ASCII.
    pub value: &'a str,
    /// What to do if the response has such a field already.
    pub merge: Merge,
}

/// What to do with a field that the application or an inner limiter has set. Nothing is overwritten.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Merge {
    /// The field is a list: add a line to it.
    Append,
    /// The field has one value: leave it as it is.
    Keep,
}

/// Which fields a gate's responses carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Styles {
    /// `RateLimit-Policy` and `RateLimit`.
    pub(crate) draft: bool,
    /// `X-RateLimit-Limit` and its like.
    pub(crate) legacy: bool,
}

/// The fields that tell a counted caller where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fields {
    /// Empty where they are not wanted.
    policies: List,
    standings: List,
    /// Limit, remaining, reset.
    legacy: Option<[Number; 3]>,
}

type Number = heapless::String<20>;

/// Where a caller stands with one policy.
pub(crate) struct Member<'a> {
    pub(crate) policy: &'a str,
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    /// After how long more is there, if waiting helps.
    pub(crate) more_in: Option<Nanos>,
}

impl fmt::Display for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\";r={}", self.policy, self.remaining)?;
        self.more_in.map_or(Ok(()), |wait| write!(f, ";t={}", wait.whole_secs_up()))
    }
}

impl Member<'_> {
    fn legacy(&self) -> [Number; 3] {
        let reset = self.more_in.unwrap_or_default().whole_secs_up();
        [u64::from(self.limit), u64::from(self.remaining), reset].map(|number| text(format_args!("{number}")))
    }
}

impl Fields {
    /// The fields of a gate with these policies; none if no style is wanted.
    pub(crate) fn new(styles: Styles, policies: &List, standings: &[Member<'_>]) -> Option<Self> {
        let Styles { draft, legacy } = styles;
        let share =
            |member: &&Member<'_>| (u64::from(member.remaining) << 32) / u64::from(member.limit.max(1));
        let closest = standings.iter().min_by_key(share);
        (draft || legacy).then(|| Self {
            policies: if draft { policies.clone() } else { List::new() },
            standings: if draft { list(standings.iter()) } else { List::new() },
            legacy: closest.filter(|_| legacy).map(Member::legacy),
        })
    }

    /// The value of `RateLimit-Policy`: each policy's name, how much (`q`) and in how many seconds (`w`, rounded up,
    /// left out for windows below one second).
    pub fn rate_limit_policy(&self) -> &str {
        &self.policies
    }

    /// The value of `RateLimit`: how much remains (`r`) under each policy, and after how many seconds there is more
    /// (`t`, rounded up). A refusal tells of the policy that refused.
    pub fn rate_limit(&self) -> &str {
        &self.standings
    }

    /// The fields to write.
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> {
        let lists = [("ratelimit-policy", &self.policies), ("ratelimit", &self.standings)].into_iter();
        let lists = lists.filter(|(_, list)| !list.is_empty());
        let lists = lists.map(|(name, value)| Field { name, value, merge: Merge::Append });
        let legacy = LEGACY.into_iter().zip(self.legacy.iter().flatten());
        lists.chain(legacy.map(|(name, value)| Field { name, value, merge: Merge::Keep }))
    }
}

/// What many servers said before there was a draft; the reset is in seconds from now.
const LEGACY: [&str; 3] = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

/// The seconds for `Retry-After` (RFC 9110 §10.2.3): rounded up, at least 1.
///
/// Where the clock may be behind by `resolution`, the next decision may be made that much before its time; so much
/// longer is the wait, since whoever waits as told is to be admitted.
pub(crate) fn retry_after(wait: Nanos, resolution: Nanos) -> u64 {
    wait.saturating_add(resolution).whole_secs_up().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_round_up_and_are_never_zero() {
        let after = |nanos| retry_after(Nanos(nanos), Nanos::ZERO);
        assert_eq!([after(0), after(1), after(1_000_000_000), after(1_000_000_001)], [1, 1, 1, 2]);
        assert_eq!(after(u64::MAX), 18_446_744_074);
    }

    #[test]
    fn a_clock_that_is_behind_makes_no_wait_too_short() {
        let resolution = Nanos::from_millis(4);
        assert_eq!(retry_after(Nanos::from_millis(995), resolution), 1);
        assert_eq!(retry_after(Nanos::from_millis(998), resolution), 2);
    }
}
