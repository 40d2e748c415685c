use std::time::{SystemTime, UNIX_EPOCH};

use tollgate::Nanos;

/// Whose clock decides when a window ends.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum TimeSource {
    /// The server's own, so that nodes' clocks need not agree. Where the server does not let this user call `TIME` in a
    /// script, the node's.
    #[default]
    Server,
    /// The system clock of the node that asks. Nodes whose clocks disagree by up to 100 ms gain nothing by it; by more,
    /// they may open a window that much early.
    Node,
    /// The `now` that is passed to each check, which must then count from the same moment on all nodes: for tests and
    /// simulations. The clock of a gate does not, unless it is a manual one.
    Caller,
}

/// A time as the scripts take it, high × 2¹⁶ + low nanoseconds; negative for the server's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    pub(crate) high: i64,
    pub(crate) low: i64,
}

impl Asked {
    pub(crate) const SERVER: Self = Self { high: -1, low: 0 };

    pub(crate) const fn at(now: Nanos) -> Self {
        Self { high: (now.0 >> 16).cast_signed(), low: (now.0 & 0xffff).cast_signed() }
    }

    /// What the system's clock shows, from the Unix epoch; 0 before it.
    pub(crate) fn system() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::at(Nanos::from_duration(since))
    }

    pub(crate) const fn nanos(self) -> Nanos {
        Nanos(self.high.cast_unsigned() << 16 | self.low.cast_unsigned())
    }
}
