use tollgate::{BoxedLimiter, BoxedPenalty, BuildError, Key, Nanos, Presented, Verdict};

use crate::distinct::DistinctMany;
use crate::policy::Policy;

/// A policy under trial: the limiter of production, and what it refused.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) policy: Policy,
    limiter: BoxedLimiter,
    penalty: Option<BoxedPenalty>,
    /// When the tables are swept next, in the log's time.
    due: Nanos,
    pub(crate) refused: u64,
    pub(crate) refused_callers: u64,
    /// Refused callers for whom there was no room among the callers.
    pub(crate) beyond: DistinctMany,
    /// Refusals of each service of one's own.
    pub(crate) own: Vec<u64>,
}

impl Tried {
    pub(crate) fn new(policy: Policy, services: usize) -> Result<Self, BuildError> {
        let limiter =
            BoxedLimiter::with_capacity(policy.quota, policy.capacity)?.with_overflow(policy.overflow);
        let penalty = policy.penalty.map(|penalty| {
            BoxedPenalty::with_capacity(penalty.strikes, penalty.within, penalty.out, policy.capacity)
        });
        Ok(Self {
            policy,
            limiter,
            penalty: penalty.transpose()?,
            due: Nanos::MAX,
            refused: 0,
            refused_callers: 0,
            beyond: DistinctMany::default(),
            own: vec![0; services],
        })
    }

    /// Whether a request of `key` is refused.
    pub(crate) fn refuses(&mut self, key: Key, now: Nanos) -> bool {
        if now >= self.due {
            self.sweep(now);
        } else if self.due == Nanos::MAX {
            self.due = now.saturating_add(self.interval());
        }
        let verdict = match &self.penalty {
            None => self.limiter.check(key, Presented::Absent, now),
            Some(penalty) => self.limiter.check_with_penalty(penalty, key, Presented::Absent, now),
        };
        matches!(verdict, Verdict::Refused(_))
    }

    /// Sweeps when it was due, though the log tells only now that the time has come. A second sweep, an interval later,
    /// finds every window over; so a log that pauses for days costs no more.
    #[cold]
    fn sweep(&mut self, now: Nanos) {
        let interval = self.interval();
        for _ in 0..2 {
            if self.due <= now {
                self.limiter.sweep(self.due);
                if let Some(penalty) = &self.penalty {
                    penalty.sweep(self.due);
                }
                self.due = self.due.saturating_add(interval);
            }
        }
        if self.due <= now {
            self.due = now.saturating_add(interval);
        }
    }

    fn interval(&self) -> Nanos {
        let interval = self.limiter.sweep_interval();
        self.penalty.as_ref().map_or(interval, |penalty| interval.min(penalty.sweep_interval()))
    }

    /// How many newcomers found no room in the table.
    pub(crate) fn overflowed(&self) -> u64 {
        let counts = self.limiter.counts();
        counts.inherited + counts.taken_over + counts.uncounted + counts.refused_by_overflow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate::{Keyer, Quota};

    /// Times are kept on a ring, here of nine to nineteen hours: half of it later a word that was not swept would lie ahead.
    #[test]
    fn a_log_that_pauses_refuses_nobody_for_it() {
        let key = Keyer::new(*b"a seed for tests").bytes(b"caller");
        let begin = Nanos::from_secs(1_431_857_103);
        for hours in 1..60 {
            let policy = Policy::new("fast", Quota::per_second(1_000).burst(1));
            let mut tried = Tried::new(policy, 0).unwrap();
            assert!(!tried.refuses(key, begin));
            assert!(tried.refuses(key, begin));
            let later = begin.saturating_add(Nanos::from_secs(3_600 * hours));
            assert!(!tried.refuses(key, later), "{hours} hours later");
        }
    }
}
