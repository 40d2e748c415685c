use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use std::str::FromStr;
use tollgate_replay::{Own, Rate, Span};

use crate::options::{Algorithm, From, Trust, WhenFull};

/// A file of settings, for what is tried again and again.
#[derive(Deserialize, Default, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    #[serde(rename = "from")]
    pub(crate) source: Option<From>,
    pub(crate) trust: Vec<Trust>,
    pub(crate) own: Vec<Text<Own>>,
    pub(crate) internal: Vec<String>,
    pub(crate) v4_prefix: Option<u8>,
    pub(crate) v6_prefix: Option<u8>,
    #[serde(rename = "policy")]
    pub(crate) policies: Vec<Described>,
}

/// One policy.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Described {
    pub(crate) name: Option<String>,
    pub(crate) limit: Text<Rate>,
    pub(crate) algorithm: Option<Algorithm>,
    pub(crate) burst: Option<u32>,
    pub(crate) v4_prefix: Option<u8>,
    pub(crate) v6_prefix: Option<u8>,
    pub(crate) capacity: Option<usize>,
    pub(crate) overflow: Option<WhenFull>,
    #[serde(default)]
    pub(crate) everyone: bool,
    #[serde(default)]
    pub(crate) exempt_own: bool,
    pub(crate) penalty: Option<Strikes>,
}

/// When a caller is out.
#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Strikes {
    #[serde(rename = "strikes")]
    pub(crate) count: u32,
    pub(crate) within: Text<Span>,
    pub(crate) out: Text<Span>,
}

/// A value that is written as a flag's is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<T>(pub(crate) T);

impl<'de, T: FromStr<Err: std::fmt::Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map(Self).map_err(D::Error::custom)
    }
}
