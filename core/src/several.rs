use heapless::Vec;

use crate::counters::Count;
use crate::credentials::{Presented, Service};
use crate::key::Key;
use crate::time::Nanos;
use crate::verdict::{Receipt, Refusal, Standing, Verdict};

/// One of several limits that a request must keep; see [`check_all`].
pub trait Limit: sealed::Steps {}

pub(crate) mod sealed {
    use super::{Key, Nanos, Receipt, Refusal, Verdict};

    /// What deciding all or nothing is made of.
    pub trait Steps {
        /// Whether a request would pass; nothing is written.
        fn foresee(&self, key: Key, now: Nanos, cost: u32) -> Result<(), Refusal>;
        /// Decides and charges.
        fn charge(&self, key: Key, now: Nanos, cost: u32) -> Verdict;
        /// Gives a charge back.
        fn undo(&self, receipt: Receipt, now: Nanos);
        /// Counts a refusal that was foreseen, or what a request presented.
        fn note(&self, note: Note);
    }

    /// What is counted beside a decision.
    #[derive(Clone, Copy)]
    pub enum Note {
        Refused,
        Exempt,
        Forged,
    }
}

pub(crate) use sealed::{Note, Steps};

impl From<Note> for Count {
    fn from(note: Note) -> Self {
        match note {
            Note::Refused => Self::Refused,
            Note::Exempt => Self::Exempt,
            Note::Forged => Self::Forged,
        }
    }
}

/// What several limits answer to one request.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a verdict that nobody reads limits nobody"]
pub enum AllVerdict<const N: usize> {
    /// The request carries a valid credential; nothing was counted.
    Exempt(Service),
    /// The request passes and every limit has counted it; where the caller stands with each, in their order.
    Admitted(Vec<Standing, N>),
    /// The request does not pass, and no limit has counted it.
    Refused {
        /// Which limit refused it, from 0; of several, the one with the longest wait.
        by: usize,
        /// Its answer.
        refusal: Refusal,
    },
}

impl<const N: usize> AllVerdict<N> {
    /// Whether the request may go on.
    pub const fn passes(&self) -> bool {
        !matches!(self, Self::Refused { .. })
    }
}

/// Decides a request by several limits, all or nothing: 10 a second and 300 a minute, a /64 and its /48, a caller and
/// then everybody. Each limit has a limiter of its own, and may know the caller by a key of its own.
///
/// A refused request is charged nowhere, and no limit is ever exceeded. Under contention a request may be refused
/// because another one was charged for a moment, which was then refused by a later limit.
///
/// ```
/// use tollgate::{AllVerdict, GlobalLimiter, Key, Limiter, Nanos, Presented, Quota, check_all};
///
/// static SECOND: Limiter<64> = Limiter::new(Quota::per_second(10));
/// static MINUTE: Limiter<64> = Limiter::new(Quota::per_minute(300));
/// static EVERYBODY: GlobalLimiter = GlobalLimiter::new(Quota::per_second(1_000));
///
/// # let key = Key::from_fingerprint(0x1234_5678_9abc_def0);
/// let limits = [(&SECOND as _, key), (&MINUTE as _, key), (&EVERYBODY as _, key)];
/// match check_all(limits, Presented::Absent, Nanos::from_secs(1), 1) {
///     AllVerdict::Refused { by, refusal } => println!("limit {by}: again in {:?}", refusal.retry_after),
///     AllVerdict::Admitted(standings) => assert_eq!(standings[1].remaining, 299),
///     AllVerdict::Exempt(_) => {}
/// }
/// ```
///
/// # Security
/// Put each caller's own limit before any that callers share, so that nobody can use up what all need, or learn from
/// the shared one what others do.
pub fn check_all<const N: usize>(
    limits: [(&dyn Limit, Key); N],
    presented: Presented,
    now: Nanos,
    cost: u32,
) -> AllVerdict<N> {
    check_list(&Vec::from_array(limits), presented, now, cost)
}

/// [`check_all`] for a number of limits that is known at run time only, up to `N`.
pub fn check_list<const N: usize>(
    limits: &Vec<(&dyn Limit, Key), N>,
    presented: Presented,
    now: Nanos,
    cost: u32,
) -> AllVerdict<N> {
    let note = |note| limits.iter().for_each(|(limit, _)| limit.note(note));
    match presented {
        Presented::Absent => {}
        Presented::Forged => note(Note::Forged),
        Presented::Service(service) => {
            note(Note::Exempt);
            return AllVerdict::Exempt(service);
        }
    }
    let refusals = limits
        .iter()
        .enumerate()
        .filter_map(|(by, (limit, key))| limit.foresee(*key, now, cost).err().map(|refusal| (by, refusal)));
    if let Some((by, refusal)) = refusals.max_by_key(|(_, refusal)| refusal.retry_after) {
        limits.iter().skip(by).take(1).for_each(|(limit, _)| limit.note(Note::Refused));
        return AllVerdict::Refused { by, refusal };
    }
    let mut standings = Vec::new();
    for (by, (limit, key)) in limits.iter().enumerate() {
        match limit.charge(*key, now, cost) {
            // There is room for one from each limit.
            Verdict::Admitted(standing) => drop(standings.push(standing)),
            Verdict::Refused(refusal) => {
                for ((limit, _), standing) in limits.iter().zip(&standings) {
                    limit.undo(standing.receipt, now);
                }
                return AllVerdict::Refused { by, refusal };
            }
            Verdict::Exempt(service) => return AllVerdict::Exempt(service),
        }
    }
    AllVerdict::Admitted(standings)
}
