//! The layout of what is known of a caller besides its word:
//!
//! | word | holds |
//! |---|---|
//! | 0 | the lock: odd while somebody writes |
//! | 1 | the key |
//! | 2, 3 | the address |
//! | 4 | `[ first 32 \| base 32 ]`: the first time, in units of 2³⁰ ns; the weight that the caller began with |
//! | 5 | `[ last 40 \| credentials 24 ]`: the last time, in units of 2²⁴ ns; a bit for each false credential |
//! | 6 | a bit for each hint |
//! | 7 | [`Shares`] and the form of the address |

use super::distinct;
use super::head::Head;
use super::shares::Shares;
use crate::key::Key;
use crate::time::Nanos;

/// What a reader sees of a caller at one moment.
pub(super) struct Details {
    pub(super) head: Head,
    words: [u64; 8],
}

impl Details {
    pub(super) const fn new(head: Head, words: [u64; 8]) -> Self {
        Self { head, words }
    }

    pub(super) const fn key(&self) -> Key {
        Key::from_fingerprint(self.words[KEY])
    }

    /// The weight of which nothing is known.
    pub(super) const fn base(&self) -> u32 {
        let [a, b, c, d, ..] = self.words[BEGIN].to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    pub(super) const fn first(&self) -> Nanos {
        Nanos(self.words[BEGIN] >> 32 << FIRST_SHIFT)
    }

    pub(super) const fn last(&self) -> Nanos {
        Nanos(self.words[LAST] & !CREDENTIALS)
    }

    pub(super) const fn credentials(&self) -> u64 {
        self.words[LAST] & CREDENTIALS
    }

    pub(super) const fn hints(&self) -> u64 {
        self.words[HINTS]
    }

    pub(super) const fn shares(&self) -> Shares {
        Shares::from_bits(self.words[SHARES])
    }

    pub(super) const fn address(&self) -> (u64, u64) {
        (self.words[HIGH], self.words[LOW])
    }
}

/// The word of the first time and the base.
pub(super) fn begin(first: Nanos, base: u32) -> u64 {
    let first = u32::try_from(first.0 >> FIRST_SHIFT).unwrap_or(u32::MAX);
    u64::from(first) << 32 | u64::from(base)
}

/// The last time, without the bits that credentials have there.
#[inline]
pub(super) const fn last(now: Nanos) -> u64 {
    now.0 & !CREDENTIALS
}

pub(super) const LOCK: usize = 0;
pub(super) const KEY: usize = 1;
pub(super) const HIGH: usize = 2;
pub(super) const LOW: usize = 3;
pub(super) const BEGIN: usize = 4;
pub(super) const LAST: usize = 5;
pub(super) const HINTS: usize = 6;
pub(super) const SHARES: usize = 7;

const FIRST_SHIFT: u32 = 30;
pub(super) const CREDENTIALS: u64 = (1 << distinct::SMALL) - 1;
