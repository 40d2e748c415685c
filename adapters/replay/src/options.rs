use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use serde::Deserialize;
use tollgate::{Overflow, Source};
use tollgate_replay::{Format, Own, Pattern, Rate, Share};

/// Tries rate limits on access logs: who would have been refused, and are they yours?
///
/// The exit code is 0; 1 if --fail-if-own-refused is given and a service of yours would have been refused; and 2 if
/// something could not be read or the settings can't work.
#[derive(Parser, Debug)]
#[command(version)]
#[expect(clippy::struct_excessive_bools, reason = "flags are independent of each other")]
pub(crate) struct Options {
    /// Access logs, as they are or packed by gzip or zstd; several are read as one, in the order of time. Without any, or
    /// for -, standard input is read.
    #[arg(value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    /// A limit to try, such as 300/min, 20/s or 5000/2h. Give several to compare them. Without any: 300/min.
    #[arg(long, value_name = "REQUESTS/TIME")]
    pub(crate) limit: Vec<Rate>,
    /// How requests are counted; with --burst gcra is meant.
    #[arg(long, value_enum, value_name = "ALGORITHM")]
    pub(crate) algorithm: Option<Algorithm>,
    /// How many may come at once, with gcra (by default as many as the limit) or promise (half of it).
    #[arg(long, value_name = "REQUESTS")]
    pub(crate) burst: Option<u32>,
    /// How many bits of an IPv4 address are one caller.
    #[arg(long, value_name = "BITS")]
    pub(crate) v4_prefix: Option<u8>,
    /// How many bits of an IPv6 address are one caller.
    #[arg(long, value_name = "BITS")]
    pub(crate) v6_prefix: Option<u8>,
    /// How many callers the limiter's table has room for; as in production.
    #[arg(long, value_name = "CALLERS")]
    pub(crate) capacity: Option<usize>,
    /// What happens to a newcomer that finds no room in the table.
    #[arg(long, value_enum, value_name = "POLICY")]
    pub(crate) overflow: Option<WhenFull>,
    /// Lets the requests of your own services pass uncounted, as those with a credential do.
    #[arg(long)]
    pub(crate) exempt_own: bool,
    /// A TOML file of settings and policies; those of flags are added.
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// A service of yours and how its requests are known: by a network, agent:TEXT or header:FIELD=TEXT.
    #[arg(long, value_name = "NAME=MATCH")]
    pub(crate) own: Vec<Own>,
    /// What the paths of routes begin with that are for your own services alone. By default /internal/.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) internal: Vec<String>,
    /// Where callers' addresses are found: peer, xff (X-Forwarded-For), forwarded (RFC 7239) or header:NAME.
    #[arg(long = "from", value_name = "SOURCE")]
    pub(crate) source: Option<From>,
    /// Whom to trust to name callers: a network such as 10.0.0.0/8, as often as needed, or hops=N.
    #[arg(long, value_name = "NET|hops=N")]
    pub(crate) trust: Vec<Trust>,
    /// The logs' format. Without it each log's is found out.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "pattern")]
    pub(crate) format: Option<Known>,
    /// A format of your own, by named fields: '{peer} [{time}] "{request}" {status} "{agent}"'.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) pattern: Option<Pattern>,
    /// Looks for the smallest limits that refuse few callers and none of your services.
    #[arg(long)]
    pub(crate) suggest: bool,
    /// How many of the callers --suggest may refuse.
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    pub(crate) refuse_at_most: Share,
    /// Writes JSON instead of a summary for people.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also writes a report with charts to this file: one page, without anything to load.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Exits with 1 if a request of your own services would have been refused.
    #[arg(long)]
    pub(crate) fail_if_own_refused: bool,
    /// Of how many callers more is kept than their number, at some 150 bytes each.
    #[arg(long, value_name = "CALLERS", default_value_t = 1_000_000)]
    pub(crate) most_callers: usize,
    /// Writes a made-up log to standard output, in the format that --format names, instead of reading any.
    #[arg(long, value_enum, value_name = "STORY", conflicts_with_all = ["logs", "pattern"])]
    pub(crate) generate: Option<Story>,
}

/// How requests are counted.
#[derive(ValueEnum, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Algorithm {
    /// Windows that begin with a caller's own first request.
    Fixed,
    /// A sliding window.
    Sliding,
    /// An even rate, and a burst at once.
    Gcra,
    /// No interval of that length admits more.
    Promise,
}

/// What happens to a newcomer that finds no room.
#[derive(ValueEnum, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WhenFull {
    /// It takes over the least-charged word with its count.
    Inherit,
    /// It takes over the least-charged word and starts afresh.
    Forget,
    /// It is refused.
    Refuse,
    /// It passes uncounted.
    Admit,
}

/// Formats by their names.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    /// Apache's and nginx's common log format.
    Common,
    /// Their combined log format.
    Combined,
    /// nginx's JSON lines, named like its variables.
    Nginx,
    /// Caddy's JSON lines.
    Caddy,
    /// Traefik's JSON lines.
    Traefik,
    /// Envoy's JSON lines.
    Envoy,
    /// AWS's application load balancers.
    Alb,
}

/// What a made-up log tells.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Story {
    /// A limit of 300 a minute refuses the platform's own services.
    Incident,
}

/// Where callers' addresses are found.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(try_from = "String")]
pub(crate) struct From {
    pub(crate) source: Source,
    /// The header that is read.
    pub(crate) header: Option<String>,
}

impl std::str::FromStr for From {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (source, header) = match text {
            "peer" => (Source::Peer, None),
            "xff" => (Source::XForwardedFor, Some("X-Forwarded-For")),
            "forwarded" => (Source::Forwarded, Some("Forwarded")),
            _ => match text.strip_prefix("header:") {
                Some(name) if !name.is_empty() => (Source::Header, Some(name)),
                _ => return Err("use peer, xff, forwarded or header:NAME"),
            },
        };
        Ok(Self { source, header: header.map(Into::into) })
    }
}

/// Who is trusted to name callers. A network is looked at later, by the library, whose errors say more.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(try_from = "String")]
pub(crate) enum Trust {
    Network(String),
    Hops(u8),
}

impl std::str::FromStr for Trust {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("hops=") {
            Some(hops) => {
                hops.parse().map(Self::Hops).map_err(|_| "the number of hops is 1 to 32, as in hops=1")
            }
            None => Ok(Self::Network(text.into())),
        }
    }
}

/// Texts of a settings file are read as flags are.
macro_rules! from_text {
    ($($kind:ty),*) => {$(
        impl TryFrom<String> for $kind {
            type Error = &'static str;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }
    )*};
}

from_text!(From, Trust);

impl WhenFull {
    pub(crate) const fn overflow(self) -> Overflow {
        match self {
            Self::Inherit => Overflow::Inherit,
            Self::Forget => Overflow::Forget,
            Self::Refuse => Overflow::Refuse,
            Self::Admit => Overflow::Admit,
        }
    }
}

impl Known {
    pub(crate) const fn format(self) -> Format {
        match self {
            Self::Common => Format::Common,
            Self::Combined => Format::Combined,
            Self::Nginx => Format::Nginx,
            Self::Caddy => Format::Caddy,
            Self::Traefik => Format::Traefik,
            Self::Envoy => Format::Envoy,
            Self::Alb => Format::Alb,
        }
    }
}
