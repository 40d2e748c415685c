use std::fmt;
use std::str::FromStr;

use tollgate::{Nanos, Overflow, Prefixes, Quota};

/// A limit to be tried: a quota, and whose requests share it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    /// What it is called in reports.
    pub name: String,
    /// How much each caller may do.
    pub quota: Quota,
    /// How much of an address is one caller.
    pub prefixes: Prefixes,
    /// How many callers have room at once.
    pub capacity: usize,
    /// What happens to a newcomer that finds no room.
    pub overflow: Overflow,
    /// Whether all callers share one budget.
    pub everyone: bool,
    /// Whether the requests of one's own services pass uncounted, as those with a credential do.
    pub exempt_own: bool,
    /// Whether who is refused often is out for longer.
    pub penalty: Option<Penalty>,
}

/// So many refusals within a period put a caller out for a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Penalty {
    /// How many refusals.
    pub strikes: u32,
    /// Within which time, from the first.
    pub within: Nanos,
    /// Out for how long, from the last.
    pub out: Nanos,
}

impl Policy {
    /// A policy with the defaults of the library: /32 and /64, room for 65,536 callers, nobody exempt.
    pub fn new(name: impl Into<String>, quota: Quota) -> Self {
        Self {
            name: name.into(),
            quota,
            prefixes: Prefixes::DEFAULT,
            capacity: DEFAULT_CAPACITY,
            overflow: Overflow::Inherit,
            everyone: false,
            exempt_own: false,
            penalty: None,
        }
    }
}

/// A number of requests and the time that they are for: `300/min`, `20/s`, `5000/2h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    /// How many requests.
    pub limit: u32,
    /// In which time.
    pub window: Nanos,
}

/// A length of time: `500ms`, `10s`, `min`, `2h`, `7d`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span(pub Nanos);

/// Why a text is no rate or no length of time.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RateError {
    /// It is not of the form.
    #[error("{0:?} is no limit: write REQUESTS/TIME, as in 300/min, 20/s or 5000/2h")]
    Rate(String),
    /// It is no time.
    #[error("{0:?} is no length of time: use ms, s, min, h or d, with or without a number before it")]
    Span(String),
}

/// As it is read.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.limit, span(self.window))
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let (limit, window) = text.split_once('/').ok_or_else(|| RateError::Rate(text.into()))?;
        let limit = limit.trim().replace(['_', ','], "");
        let limit = limit.parse().map_err(|_| RateError::Rate(text.into()))?;
        Ok(Self { limit, window: window.trim().parse::<Span>()?.0 })
    }
}

impl FromStr for Span {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let fail = || RateError::Span(text.into());
        let (number, unit) = text.split_at(text.find(|char: char| !char.is_ascii_digit()).ok_or_else(fail)?);
        let number: u64 = if number.is_empty() { 1 } else { number.parse().map_err(|_| fail())? };
        let millis = match unit.trim() {
            "ms" => 1,
            "s" | "sec" | "second" | "seconds" => SECOND,
            "m" | "min" | "minute" | "minutes" => 60 * SECOND,
            "h" | "hour" | "hours" => 3_600 * SECOND,
            "d" | "day" | "days" => 86_400 * SECOND,
            _ => return Err(fail()),
        };
        Ok(Self(Nanos::from_millis(number.saturating_mul(millis))))
    }
}

/// A length of time for people: in the largest unit that it is a whole number of.
pub(crate) fn span(length: Nanos) -> String {
    let millis = length.0 / 1_000_000;
    let units = [(86_400 * SECOND, "d"), (3_600 * SECOND, "h"), (60 * SECOND, "min"), (SECOND, "s")];
    match units.iter().find(|(unit, _)| millis >= *unit && millis.is_multiple_of(*unit)) {
        Some((unit, name)) if millis == *unit => (*name).into(),
        Some((unit, name)) => format!("{} {name}", millis / unit),
        None if length.0.is_multiple_of(1_000_000) => format!("{millis} ms"),
        None => format!("{} ns", length.0),
    }
}

/// The gate's.
const DEFAULT_CAPACITY: usize = 65_536;
const SECOND: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        for (text, limit, secs) in [
            ("300/min", 300, 60),
            ("20/s", 20, 1),
            ("5_000/2h", 5_000, 7_200),
            ("1 / 10 s", 1, 10),
            ("9/d", 9, 86_400),
        ] {
            assert_eq!(text.parse(), Ok(Rate { limit, window: Nanos::from_secs(secs) }), "{text}");
        }
        for text in ["", "300", "/min", "300/", "300/fortnight", "-1/s", "1.5/s", "300/3", "99999999999/s"] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains("write ") || error.contains("use "), "{error}");
        }
    }

    #[test]
    fn spans_are_written_as_they_are_read() {
        for text in ["d", "h", "min", "s", "2 d", "90 min", "90 s", "1500 ms"] {
            let read: Span = text.parse().unwrap();
            assert_eq!(span(read.0), text);
        }
        assert_eq!(span(Nanos(2_048)), "2048 ns");
    }
}
