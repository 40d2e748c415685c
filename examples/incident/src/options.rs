use std::net::SocketAddr;

use clap::{Parser, ValueEnum};
use tollgate_axum::{Nanos, Overflow, Quota};

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
    /// Serves the API on this address until it is stopped, instead of playing. Port 0 takes a free one.
    #[arg(long, value_name = "ADDR")]
    pub(crate) serve: Option<SocketAddr>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framework {
    /// axum, by tollgate-axum.
    Axum,
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

impl Options {
    pub(crate) fn framework(&self) -> Framework {
        self.on
    }

    /// A limit that no quota holds is told by the gate, like any other that can't be enforced.
    pub(crate) fn quota(&self) -> Quota {
        Quota::new(u32::try_from(self.limit).unwrap_or(u32::MAX), Nanos::from_secs(self.window))
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
