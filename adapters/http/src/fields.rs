//! `RateLimit-Policy` and `RateLimit`, as draft-ietf-httpapi-ratelimit-headers-10 has them.

use tollgate::{Nanos, Verdict};

use crate::policy::Policy;
use crate::text::{Text, text};

/// One field of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field<'a> {
    /// Its name, in lower case.
    pub name: &'static str,
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

/// The fields that tell a counted caller where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fields {
    policy: Text,
    standing: Text,
}

impl Fields {
    /// The fields for a verdict; none for whoever is exempt.
    pub(crate) fn new(policy: &Policy, verdict: Verdict) -> Option<Self> {
        let (remaining, after) = match verdict {
            Verdict::Exempt(_) => return None,
            Verdict::Admitted(standing) => (standing.remaining, standing.resets_in),
            Verdict::Refused(refusal) => (0, refusal.retry_after),
        };
        let standing = text(format_args!("\"{}\";r={remaining};t={}", policy.name, after.whole_secs_up()));
        Some(Self { policy: policy.field.clone(), standing })
    }

    /// The value of `RateLimit-Policy`: the quota's name, how much (`q`) and in how many seconds (`w`, rounded up,
    /// left out for windows below one second).
    pub fn rate_limit_policy(&self) -> &str {
        &self.policy
    }

    /// The value of `RateLimit`: how much remains (`r`), and after how many seconds the whole quota is there again
    /// (`t`, rounded up).
    pub fn rate_limit(&self) -> &str {
        &self.standing
    }

    /// The fields to write.
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> {
        let list = |name, value| Field { name, value, merge: Merge::Append };
        [list("ratelimit-policy", self.rate_limit_policy()), list("ratelimit", self.rate_limit())].into_iter()
    }
}

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
