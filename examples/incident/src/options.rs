use std::net::SocketAddr;

use clap::{Parser, ValueEnum};
use tollgate_axum::{Mode, Nanos, Overflow, Quota, Source};

/// Plays the incident before and after the fix, and exits with 1 if the fix does not hold.
///
/// The environment variable `INTERNAL_TOKEN` names the internal token; if it is unset, one is made and printed.
#[derive(Parser, Debug)]
#[command(version)]
pub(crate) struct Options {
    /// The framework that serves the API.
    #[arg(long, value_enum, default_value_t = Framework::Axum, value_name = "FRAMEWORK")]
    on: Framework,
    /// Requests that one address may make in a window.
    #[arg(long, default_value_t = 300, value_name = "REQUESTS")]
    limit: u64,
    /// The window's length.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    window: u64,
    /// How many callers the table has room for.
    #[arg(long, default_value_t = 65_536, value_name = "CALLERS")]
    pub(crate) capacity: usize,
    /// What happens to a newcomer that finds no room in the table.
    #[arg(long, value_enum, default_value_t = WhenFull::Inherit, value_name = "POLICY")]
    overflow: WhenFull,
    /// How requests are counted.
    #[arg(long, value_enum, default_value_t = Algorithm::Fixed, value_name = "ALGORITHM")]
    algorithm: Algorithm,
    /// What is done with verdicts.
    #[arg(long, value_enum, default_value_t = Enforcement::Enforce, value_name = "MODE")]
    mode: Enforcement,
    /// Whether responses also carry X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset.
    #[arg(long)]
    pub(crate) legacy_fields: bool,
    /// Where callers' addresses are found: peer, xff (X-Forwarded-For), forwarded (RFC 7239) or header:NAME.
    #[arg(long = "from", default_value = "peer", value_name = "SOURCE", value_parser = source)]
    pub(crate) source: Source,
    /// Whom to trust to name callers: a network such as 10.0.0.0/8, as often as needed, or hops=N.
    #[arg(long, value_name = "NET|hops=N", value_parser = trust)]
    pub(crate) trust: Vec<Trust>,
    /// How many bits of an IPv4 address are one caller.
    #[arg(long, default_value_t = 32, value_name = "BITS")]
    pub(crate) v4_prefix: u8,
    /// How many bits of an IPv6 address are one caller.
    #[arg(long, default_value_t = 64, value_name = "BITS")]
    pub(crate) v6_prefix: u8,
    /// Plays one more act, in which three nodes share one budget in the Redis or Valkey at this address, such as
    /// `redis://127.0.0.1:6379`. It is left as it was but for keys that expire.
    #[arg(long, value_name = "URL", conflicts_with = "serve")]
    pub(crate) redis: Option<String>,
    /// Serves the API on this address until it is stopped, instead of playing. Port 0 takes a free one.
    #[arg(long, value_name = "ADDR")]
    pub(crate) serve: Option<SocketAddr>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framework {
    /// axum, by tollgate-axum.
    Axum,
    /// Bare hyper, by tollgate-hyper.
    Hyper,
    /// actix-web, by tollgate-actix-web.
    ActixWeb,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum WhenFull {
    /// It takes over the least-charged word with its count.
    Inherit,
    /// It takes over the least-charged word and starts afresh.
    Forget,
    /// It is refused.
    Refuse,
    /// It passes uncounted.
    Admit,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Algorithm {
    /// Windows that begin with a caller's own first request.
    Fixed,
    /// A sliding window.
    Sliding,
    /// An even rate, with the limit as its burst.
    Gcra,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Enforcement {
    /// Whoever is over the limit is refused.
    Enforce,
    /// Everything is counted and told, and nobody is refused.
    Shadow,
    /// Nothing is counted.
    Off,
}

/// Who is trusted to name callers.
#[derive(Clone, Debug)]
pub(crate) enum Trust {
    Network(String),
    Hops(u8),
}

fn source(text: &str) -> Result<Source, String> {
    match text {
        "peer" => Ok(Source::Peer),
        "xff" => Ok(Source::XForwardedFor),
        "forwarded" => Ok(Source::Forwarded),
        _ => match text.strip_prefix("header:") {
            Some(name) => Ok(Source::header(name)),
            None => Err("use peer, xff, forwarded or header:NAME".into()),
        },
    }
}

/// A network is looked at by the gate, whose errors say more.
fn trust(text: &str) -> Result<Trust, String> {
    match text.strip_prefix("hops=") {
        Some(hops) => {
            hops.parse().map(Trust::Hops).map_err(|_| "the number of hops is 1 to 32, as in hops=1".into())
        }
        None => Ok(Trust::Network(text.into())),
    }
}

impl Options {
    pub(crate) fn framework(&self) -> Framework {
        self.on
    }

    /// A limit that no quota holds is told by the gate, like any other that can't be enforced.
    pub(crate) fn quota(&self) -> Quota {
        let limit = u32::try_from(self.limit).unwrap_or(u32::MAX);
        let quota = Quota::new(limit, Nanos::from_secs(self.window));
        match self.algorithm {
            Algorithm::Fixed => quota,
            Algorithm::Sliding => quota.sliding(),
            Algorithm::Gcra => quota.burst(limit),
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        match self.mode {
            Enforcement::Enforce => Mode::Enforce,
            Enforcement::Shadow => Mode::Shadow,
            Enforcement::Off => Mode::Off,
        }
    }

    pub(crate) fn overflow(&self) -> Overflow {
        match self.overflow {
            WhenFull::Inherit => Overflow::Inherit,
            WhenFull::Forget => Overflow::Forget,
            WhenFull::Refuse => Overflow::Refuse,
            WhenFull::Admit => Overflow::Admit,
        }
    }
}
