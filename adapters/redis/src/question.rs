use redis::{ErrorKind, RedisError, RedisResult};
use tollgate::Nanos;

use crate::time_source::Asked;

/// What the store is asked about one limit.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) key: String,
    pub(crate) figures: [i64; 6],
    /// What the request costs.
    pub(crate) cost: u32,
    /// How much is wanted at once, with other requests that wait.
    pub(crate) wanted: u32,
    /// How much to charge at best, for requests to come.
    pub(crate) chunk: u32,
    /// At most this part of what remains is charged ahead.
    pub(crate) divisor: u32,
    /// What was admitted while the store could not be asked.
    pub(crate) owed: u32,
}

impl Question {
    pub(crate) fn arguments(&self) -> [i64; 11] {
        let [kind, limit, span, shift, bits, kept] = self.figures;
        let asked = [self.cost, self.wanted, self.chunk, self.divisor, self.owed];
        let [cost, wanted, chunk, divisor, owed] = asked.map(i64::from);
        [kind, limit, span, shift, bits, kept, cost, wanted, chunk, divisor, owed]
    }
}

/// What the store answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) admitted: bool,
    /// When, by the clock that decided.
    pub(crate) now: Nanos,
    pub(crate) charges: Vec<Charged>,
}

/// What one limit has charged.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Charged {
    pub(crate) charge: u32,
    /// The state before it was.
    pub(crate) before: Option<u64>,
    /// How much of what was owed was charged before that.
    pub(crate) settled: u32,
}

impl Answer {
    pub(crate) fn read(reply: &[i64], limits: usize) -> RedisResult<Self> {
        match reply {
            &[admitted, high, low, ref charges @ ..] if charges.len() == 3 * limits => Ok(Self {
                admitted: admitted == 1,
                now: Asked { high, low }.nanos(),
                charges: charges
                    .as_chunks::<3>()
                    .0
                    .iter()
                    .map(|&[charge, before, settled]| {
                        let [charge, settled] =
                            [charge, settled].map(|told| u32::try_from(told).unwrap_or(0));
                        Charged { charge, before: u64::try_from(before).ok(), settled }
                    })
                    .collect(),
            }),
            _ => Err(RedisError::from((ErrorKind::UnexpectedReturnType, "the script's answer is not ours"))),
        }
    }
}
