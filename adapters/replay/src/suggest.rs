use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use tollgate::{Nanos, Quota};

use crate::callers::{Callers, FORMS, MINUTE, SECOND, SLIDING};
use crate::replay::Service;
use crate::verdict::Verdict;

/// The smallest limit of one form that refuses no more than a share of callers, and none of one's own services.
///
/// (Of sliding windows it is the smallest that does so whatever else is refused: where a service shares its address with
/// strangers a smaller one may do, since what is refused of theirs is not counted.)
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Suggestion {
    /// Which limits were looked at.
    pub form: Form,
    /// The smallest limit that does.
    pub limit: u32,
    /// Callers in all.
    pub callers: u64,
    /// Callers whom that limit refuses at least one request.
    pub refused_callers: u64,
    /// The smallest limit as far as callers alone are concerned.
    pub for_callers: u32,
    /// The service of one's own that needs the most, and how much.
    pub for_own: Option<(String, u32)>,
    /// The smallest limit for callers that look like one: not one's own, and not many behind an address.
    pub for_single_callers: u32,
    /// Callers above that who look like one: whom a limit is for.
    pub offenders: u64,
    /// How many of these `limit` still refuses.
    pub offenders_refused: u64,
    /// An address that many seem to share, which needs the most: the address, how much, and how many are behind it.
    pub shared: Option<(String, u32, u32)>,
    /// Why there is no number that works.
    pub no_number: Option<String>,
}

/// The forms of limits that are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// So many a second, in fixed windows.
    PerSecond,
    /// So many a minute, in fixed windows.
    PerMinute,
    /// So many a minute, in a sliding window.
    SlidingMinute,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; FORMS] = [Self::PerSecond, Self::PerMinute, Self::SlidingMinute];

    /// The quota of this form with a limit.
    pub const fn quota(self, limit: u32) -> Quota {
        let window = self.window();
        match self {
            Self::SlidingMinute => Quota::new(limit, window).sliding(),
            _ => Quota::new(limit, window),
        }
    }

    const fn window(self) -> Nanos {
        match self {
            Self::PerSecond => SECOND,
            _ => MINUTE,
        }
    }

    /// A limit of this form, for people.
    pub fn text(self, limit: u32) -> String {
        match self {
            Self::PerSecond => format!("{limit}/s"),
            Self::PerMinute => format!("{limit}/min"),
            Self::SlidingMinute => format!("{limit}/min, sliding"),
        }
    }
}

/// A share of callers, in millionths: `0.1%` or `0.001`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share(u32);

/// Why a text is no share.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is no share of callers: write a percentage from 0% to 100%, such as 0.1%")]
pub struct ShareError(String);

impl Share {
    /// How many of so many, rounded down.
    pub fn of(self, callers: u64) -> u64 {
        let part = u128::from(callers) * u128::from(self.0) / u128::from(MILLION);
        u64::try_from(part).unwrap_or(u64::MAX)
    }
}

impl FromStr for Share {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        let fail = || ShareError(text.into());
        let (number, places) = text.trim().strip_suffix('%').map_or((text, 6), |percent| (percent.trim(), 4));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > places {
            return Err(fail());
        }
        let millionths: u32 = format!("{whole}{fraction:0<places$}").parse().map_err(|_| fail())?;
        if millionths > MILLION { Err(fail()) } else { Ok(Self(millionths)) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:04}", self.0 / 10_000, self.0 % 10_000);
        write!(f, "{}%", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// What each form's smallest limit is; nothing if there were no callers.
pub(crate) fn suggest(callers: &Callers, services: &[Service], share: Share) -> Vec<Suggestion> {
    if callers.list().is_empty() {
        return Vec::new();
    }
    Form::ALL
        .iter()
        .enumerate()
        .map(|(index, form)| suggestion(*form, index, callers, services, share))
        .collect()
}

fn suggestion(form: Form, index: usize, callers: &Callers, services: &[Service], share: Share) -> Suggestion {
    let need = |at: usize| match index {
        SLIDING => callers.list().get(at).map_or(0, |caller| caller.sliding.peak),
        window => callers.peak(at, window),
    };
    let (mut all, mut single) = (Vec::new(), Vec::new());
    let mut shared: Option<(usize, u32)> = None;
    for (at, caller) in callers.list().iter().enumerate() {
        all.push(need(at));
        match caller.evidence().verdict() {
            Verdict::OneCaller | Verdict::Forging => single.push(need(at)),
            Verdict::SharedAddress if shared.is_none_or(|(_, most)| need(at) > most) => {
                shared = Some((at, need(at)));
            }
            _ => {}
        }
    }
    let for_callers = smallest(&mut all, share);
    let for_single_callers = smallest(&mut single, share);
    let for_own =
        services.iter().map(|service| (&service.name, service.needs[index])).max_by_key(|(_, need)| *need);
    let for_own = for_own.filter(|(_, need)| *need > 0).map(|(name, need)| (name.clone(), need));
    let limit = for_callers.max(for_own.as_ref().map_or(0, |(_, need)| *need));
    let above = |needs: &[u32], limit: u32| needs.iter().filter(|need| **need > limit).count() as u64;
    let shared = shared.and_then(|(at, need)| {
        let caller = callers.list().get(at)?;
        Some((caller.origin.to_string(), need, caller.evidence().distinct))
    });
    let mut suggestion = Suggestion {
        form,
        limit,
        callers: all.len() as u64,
        refused_callers: above(&all, limit),
        for_callers,
        for_own,
        for_single_callers,
        offenders: above(&single, for_single_callers),
        offenders_refused: above(&single, limit),
        shared,
        no_number: None,
    };
    suggestion.no_number = suggestion.fault();
    suggestion
}

/// The smallest limit, at least 1, that no more than a share of these needs exceed.
fn smallest(needs: &mut [u32], share: Share) -> u32 {
    let allowed = usize::try_from(share.of(needs.len() as u64)).unwrap_or(usize::MAX);
    needs.sort_unstable_by(|a, b| b.cmp(a));
    needs.get(allowed).copied().unwrap_or_default().max(1)
}

impl Suggestion {
    /// Why the limit, though it is the smallest that does what was asked, is no number to use.
    fn fault(&self) -> Option<String> {
        let Self { form, limit, for_single_callers: single, .. } = self;
        if let Err(error) = form.quota(*limit).validate() {
            return Some(format!("no number works: {} can't be enforced ({error})", form.text(*limit)));
        }
        let is_far = |need: u32| need > single.saturating_mul(FAR);
        let (whose, need) = match (&self.for_own, &self.shared) {
            (Some((name, need)), _) if is_far(*need) => {
                (format!("your service {name} calls for many"), *need)
            }
            (_, Some((address, need, behind))) if is_far(*need) && *limit >= *need => {
                (format!("about {behind} share {address}"), *need)
            }
            _ => return None,
        };
        let times = need / single.max(&1);
        Some(format!(
            "no number works: {whose} and needs {need}, {times} times the {single} that callers alone at an address need"
        ))
    }
}

/// What to do where no number works.
pub const ADVICE: &str = "Where no number works an address is not one caller. A limit that lets all behind it pass would let \
     anybody do as much, and suffice only until more come. Identity is the answer: count by who calls, not by address.";

const MILLION: u32 = 1_000_000;
/// From how many times what single callers need on a limit no longer is one for them.
const FAR: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_and_written() {
        for (text, expected) in
            [("0.1%", 1_000), ("0%", 0), ("100%", MILLION), ("0.001", 1_000), ("1", MILLION)]
        {
            assert_eq!(text.parse(), Ok(Share(expected)), "{text}");
        }
        for text in ["", "%", "-1%", "101%", "2", "0.00001%", "a%", "1e3"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
        for text in ["0.1%", "0%", "100%", "2.5%"] {
            assert_eq!(text.parse::<Share>().unwrap().to_string(), text);
        }
        assert_eq!(Share(1_000).of(1_999), 1);
        assert_eq!(Share(MILLION).of(u64::MAX), u64::MAX);
    }
}
