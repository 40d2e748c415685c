use crate::credentials::Service;
use crate::key::Key;
use crate::time::Nanos;

/// What a limiter answers to one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a verdict that nobody reads limits nobody"]
pub enum Verdict {
    /// The request carries a valid credential; the table was not touched.
    Exempt(Service),
    /// The request passes and has been counted.
    Admitted(Standing),
    /// The request does not pass; nothing was counted.
    Refused(Refusal),
}

impl Verdict {
    /// Whether the request may go on: it is exempt or admitted.
    pub const fn passes(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }
}

/// Where a caller stands after it was admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Standing {
    /// Requests that one window admits.
    pub limit: u32,
    /// Requests that this window still admits, after this one.
    pub remaining: u32,
    /// The time until the whole limit is available again.
    pub resets_in: Nanos,
    /// Whose count the answer rests on.
    pub basis: Basis,
    /// What gives this charge back: see [`RateLimiter::refund`](crate::RateLimiter::refund).
    pub receipt: Receipt,
}

/// Proof of a charge, for giving it back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Receipt {
    key: Key,
    /// The state that the charge left behind, which tells when it was.
    charged: u64,
    cost: u32,
}

impl Receipt {
    /// The proof of a charge that was made in a store elsewhere: see [`Account`](crate::Account). A limiter makes its
    /// own.
    pub const fn new(key: Key, charged: u64, cost: u32) -> Self {
        Self { key, charged, cost }
    }

    /// Who was charged.
    pub const fn key(&self) -> Key {
        self.key
    }

    /// How much was charged; 0 if the request passed uncounted.
    pub const fn cost(&self) -> u32 {
        self.cost
    }

    /// The state that the charge left behind.
    pub const fn charged(&self) -> u64 {
        self.charged
    }
}

/// Whose count an admission rests on, told once, when the caller's word is made. [`Basis::Inherited`],
/// [`Basis::TookOver`] and [`Basis::Uncounted`] mean that the caller found no free word in its two lines: the table is too
/// small for the callers it sees.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Basis {
    /// The caller's own word, whatever it began with.
    Own,
    /// A word taken over with its count ([`Overflow::Inherit`](crate::Overflow::Inherit)).
    Inherited,
    /// A word taken over and begun afresh ([`Overflow::Forget`](crate::Overflow::Forget)).
    TookOver,
    /// None: the request passed uncounted ([`Overflow::Admit`](crate::Overflow::Admit), or a shared budget whose store
    /// can't be reached).
    Uncounted,
    /// Credit that this node was lent from a budget which it shares with others.
    Leased,
    /// This node's share of a budget whose store can't be reached.
    Share,
}

/// Why a request was refused, and when to try again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// Requests that one window admits.
    pub limit: u32,
    /// The wait after which a request can be admitted; never zero.
    pub retry_after: Nanos,
    /// What the refusal rests on.
    pub reason: Reason,
}

/// What a refusal rests on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The caller's word is at the limit: it has used it, or inherited a count when it found no free word.
    OverLimit,
    /// The request costs more than the limit, so that no wait helps; `retry_after` is [`Nanos::MAX`].
    CostAboveLimit,
    /// The caller was refused too often and is out for longer.
    Penalty,
    /// The caller is new and every word it could use restrains somebody else who can't be displaced.
    Overflow,
    /// The caller is new and every word it could use is being claimed at this moment.
    Contended,
    /// This node's share of the limit is used up, and the store of the shared budget can't be reached.
    Share,
    /// The store of the shared budget can't be reached, and nothing may pass without it.
    Unreachable,
}

impl Standing {
    /// What a store elsewhere answers ([`Account`](crate::Account)), on the caller's own count.
    pub const fn new(limit: u32, remaining: u32, resets_in: Nanos, receipt: Receipt) -> Self {
        Self { limit, remaining, resets_in, basis: Basis::Own, receipt }
    }

    /// Whether the caller has used at least 80 % of its limit.
    #[inline]
    pub const fn is_near_limit(&self) -> bool {
        self.remaining as u64 * 5 <= self.limit as u64
    }
}

impl Refusal {
    /// What a store elsewhere answers.
    pub const fn new(limit: u32, retry_after: Nanos, reason: Reason) -> Self {
        Self { limit, retry_after, reason }
    }
}
