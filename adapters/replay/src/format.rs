//! The formats of access logs.

mod alb;
mod clf;
mod json;
mod parser;
mod pattern;

use std::fmt;

pub use parser::Parser;
pub use pattern::{Pattern, PatternError};

/// How the lines of a log are written.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Format {
    /// The common log format.
    Common,
    /// The combined log format, and nginx's `main`, which adds `X-Forwarded-For`.
    Combined,
    /// JSON lines of nginx (`escape=json`), named like its variables.
    Nginx,
    /// JSON lines of Caddy.
    Caddy,
    /// JSON lines of Traefik.
    Traefik,
    /// JSON lines of Envoy, as Istio names them.
    Envoy,
    /// Access logs of AWS's application load balancers.
    Alb,
    /// A format of one's own.
    Pattern(Pattern),
}

/// All that are found by themselves; the first that reads a line is its format.
pub const FORMATS: [Format; 7] = [
    Format::Combined,
    Format::Common,
    Format::Alb,
    Format::Caddy,
    Format::Traefik,
    Format::Envoy,
    Format::Nginx,
];

impl Format {
    /// The format of most of these lines, if any of them can be read.
    pub fn detect<'l>(lines: impl IntoIterator<Item = &'l [u8]>) -> Option<Self> {
        let mut votes = [0_u32; FORMATS.len()];
        for line in lines {
            if let Some(index) = FORMATS.iter().position(|format| format.reads(line)) {
                votes[index] += 1;
            }
        }
        let most = *votes.iter().max().filter(|most| **most > 0)?;
        FORMATS.iter().zip(votes).find(|(_, count)| *count == most).map(|(format, _)| format.clone())
    }

    /// Whether a line is of this format, for those that are found by themselves.
    pub fn reads(&self, line: &[u8]) -> bool {
        match self {
            Self::Combined if !clf::is_combined(line) => false,
            Self::Caddy | Self::Traefik | Self::Envoy | Self::Nginx if !line.starts_with(b"{") => false,
            _ => Parser::new(self.clone(), crate::Wanted::default()).parse(line).is_ok(),
        }
    }

    /// The names that a JSON format uses.
    const fn keys(&self) -> Option<&'static json::Keys> {
        match self {
            Self::Caddy => Some(&json::CADDY),
            Self::Traefik => Some(&json::TRAEFIK),
            Self::Envoy => Some(&json::ENVOY),
            Self::Nginx => Some(&json::NGINX),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Common => f.write_str("common log format"),
            Self::Combined => f.write_str("combined log format"),
            Self::Nginx => f.write_str("JSON lines, nginx"),
            Self::Caddy => f.write_str("JSON lines, Caddy"),
            Self::Traefik => f.write_str("JSON lines, Traefik"),
            Self::Envoy => f.write_str("JSON lines, Envoy"),
            Self::Alb => f.write_str("AWS application load balancer"),
            Self::Pattern(pattern) => write!(f, "pattern {pattern}"),
        }
    }
}
