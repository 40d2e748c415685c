//! `RateLimit-Policy` and `RateLimit`, as draft-ietf-httpapi-ratelimit-headers-10 has them.

use std::mem;

use bytes::Bytes;
use tollgate::Nanos;

use crate::name::{Name, Types, give};
use crate::policy::MOST_POLICIES;
use crate::text::{Ready, numeral};

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

impl Styles {
    /// How many there are at most.
    #[cfg(feature = "http-1")]
    pub(crate) fn fields(self) -> usize {
        2 * usize::from(self.draft) + LEGACY.len() * usize::from(self.legacy)
    }
}

/// The fields that tell a counted caller where it stands.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Fields {
    /// Empty where they are not wanted.
    policies: Bytes,
    standings: Bytes,
    /// Limit, remaining, reset.
    legacy: Option<[Bytes; 3]>,
}

/// A member for each policy or one for requests under way, and what separates them. A member is a policy's name of at most
/// 32 bytes in quotes, two numbers and their labels.
type List = heapless::String<{ MOST_POLICIES * (64 + 2) }>;

/// Where a caller stands with one policy.
pub(crate) struct Member<'a> {
    pub(crate) policy: &'a str,
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    /// After how long more is there, if waiting helps.
    pub(crate) more_in: Option<Nanos>,
}

impl Member<'_> {
    /// Adds `"default";r=299;t=60`.
    fn list(&self, list: &mut List) {
        let mut number = itoa::Buffer::new();
        push(list, if list.is_empty() { "\"" } else { ", \"" });
        push(list, self.policy);
        push(list, "\";r=");
        push(list, number.format(self.remaining));
        if let Some(wait) = self.more_in {
            push(list, ";t=");
            push(list, number.format(wait.whole_secs_up()));
        }
    }

    /// Limit, remaining, reset.
    fn legacy(&self) -> [u64; 3] {
        [self.limit.into(), self.remaining.into(), self.more_in.unwrap_or_default().whole_secs_up()]
    }

    #[inline(never)]
    fn give_legacy<T: Types>(&self, mut add: impl FnMut(T::Name, T::Value, Merge)) {
        for (name, number) in LEGACY.into_iter().zip(self.legacy()) {
            give::<T>(name, numeral::<T>(number), |name, value| add(name, value, Merge::Keep));
        }
    }

    /// The share of the limit that remains, in 2⁻³² of it.
    fn share(&self) -> u64 {
        (u64::from(self.remaining) << 32) / u64::from(self.limit.max(1))
    }
}

impl Fields {
    /// One more field of a gate's.
    pub(crate) fn set(&mut self, name: Name, value: Bytes) {
        match name {
            Name::RateLimitPolicy => self.policies = value,
            Name::RateLimit => self.standings = value,
            number => {
                let place = LEGACY.iter().position(|&name| name == number);
                let numbers = self.legacy.get_or_insert_default();
                if let Some(place) = place.and_then(|place| numbers.get_mut(place)) {
                    *place = value;
                }
            }
        }
    }

    /// The value of `RateLimit-Policy`: each policy's name, how much (`q`) and in how many seconds (`w`, rounded up,
    /// left out for windows below one second).
    pub fn rate_limit_policy(&self) -> &str {
        text(&self.policies)
    }

    /// The value of `RateLimit`: how much remains (`r`) under each policy, and after how many seconds there is more
    /// (`t`, rounded up). A refusal tells of the policy that refused.
    pub fn rate_limit(&self) -> &str {
        text(&self.standings)
    }

    /// The fields to write.
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> {
        let lists = [(Name::RateLimitPolicy, &self.policies), (Name::RateLimit, &self.standings)].into_iter();
        let lists = lists.filter(|(_, list)| !list.is_empty());
        let lists = lists.map(|(name, value)| Field {
            name: name.as_str(),
            value: text(value),
            merge: Merge::Append,
        });
        let legacy = LEGACY.into_iter().zip(self.legacy.iter().flatten());
        lists.chain(legacy.map(|(name, value)| Field {
            name: name.as_str(),
            value: text(value),
            merge: Merge::Keep,
        }))
    }

    /// There are at most so many.
    #[cfg(feature = "http-1")]
    pub(crate) fn most(&self) -> usize {
        2 + self.legacy.as_ref().map_or(0, |numbers| numbers.len())
    }

    /// Gives the fields away, without a copy.
    pub(crate) fn write<T: Types>(&mut self, mut add: impl FnMut(T::Name, T::Value)) {
        for (name, list) in
            [(Name::RateLimitPolicy, &mut self.policies), (Name::RateLimit, &mut self.standings)]
        {
            if !list.is_empty() {
                give::<T>(name, T::value(mem::take(list)), &mut add);
            }
        }
        for (name, value) in LEGACY.into_iter().zip(self.legacy.iter_mut().flatten()) {
            give::<T>(name, T::value(mem::take(value)), &mut add);
        }
    }
}

fn push(list: &mut List, text: &str) {
    let pushed = list.push_str(text);
    debug_assert!(pushed.is_ok(), "{text} does not fit");
}

/// Where a caller stands, as its response is to be told.
pub(crate) struct Told<'m> {
    styles: Styles,
    list: List,
    closest: Option<Member<'m>>,
}

impl<'m> Told<'m> {
    pub(crate) const fn nothing(styles: Styles) -> Self {
        Self { styles, list: List::new(), closest: None }
    }

    /// With one policy more, if there is something to tell of it.
    #[inline]
    pub(crate) fn and(&mut self, member: Option<Member<'m>>) {
        let Some(member) = member else { return };
        if self.styles.draft {
            member.list(&mut self.list);
        }
        if self.styles.legacy {
            self.look_if_closest(member);
        }
    }

    #[inline(never)]
    fn look_if_closest(&mut self, member: Member<'m>) {
        if self.closest.as_ref().is_none_or(|closest| member.share() < closest.share()) {
            self.closest = Some(member);
        }
    }

    /// Gives each field to `add`: its value is made where its name is known, and not where any might be.
    #[inline]
    pub(crate) fn give<T: Types>(&self, policies: &Ready, mut add: impl FnMut(T::Name, T::Value, Merge)) {
        if self.styles.draft {
            policies.give::<T>(|value| add(T::name(Name::RateLimitPolicy), value, Merge::Append));
        }
        if !self.list.is_empty()
            && let Some(value) = T::copied(self.list.as_bytes())
        {
            add(T::name(Name::RateLimit), value, Merge::Append);
        }
        if let Some(closest) = &self.closest {
            closest.give_legacy::<T>(add);
        }
    }
}

/// What a gate has written is text.
pub(crate) fn text(value: &Bytes) -> &str {
    str::from_utf8(value).unwrap_or_default()
}

/// What many servers said before there was a draft; the reset is in seconds from now.
const LEGACY: [Name; 3] = [Name::Limit, Name::Remaining, Name::Reset];

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
    use crate::name::Listed;

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

    fn list<const N: usize>(members: [Member<'_>; N]) -> String {
        let (styles, mut fields) = (Styles { draft: true, legacy: false }, Fields::default());
        let mut told = Told::nothing(styles);
        for member in members {
            told.and(Some(member));
        }
        told.give::<Listed>(&Ready::new(String::new()), |name, value, _| fields.set(name, value));
        fields.rate_limit().to_owned()
    }

    #[test]
    fn members_are_as_formatted() {
        let name = "n".repeat(32);
        let waits = [None, Some(Nanos::ZERO), Some(Nanos::from_millis(1_001)), Some(Nanos(u64::MAX))];
        let numbers = [0, 9, 10, 299, u32::MAX];
        for (policy, remaining, more_in) in ["default", &*name].into_iter().flat_map(|policy| {
            numbers.into_iter().flat_map(move |remaining| waits.map(move |wait| (policy, remaining, wait)))
        }) {
            let t = more_in.map_or(String::new(), |wait| format!(";t={}", wait.0.div_ceil(1_000_000_000)));
            let expected = format!("\"{policy}\";r={remaining}{t}");
            let member = || Member { policy, limit: u32::MAX, remaining, more_in };
            assert_eq!(list([member()]), expected);
            let all = list([member(), member(), member(), member()]);
            assert_eq!(all, [&*expected; MOST_POLICIES].join(", "));
            let reset = more_in.map_or(0, |wait| wait.0.div_ceil(1_000_000_000)).to_string();
            let legacy = member().legacy().map(|number| number.to_string());
            assert_eq!(legacy, ["4294967295", &remaining.to_string(), &reset]);
        }
    }
}
