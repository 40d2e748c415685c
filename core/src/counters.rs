use crate::credentials::{Presented, Service};
use crate::sync::{STRIPES, Tally, TallyOrdering};

/// How often the rare things happened. Nothing is counted where a caller is admitted on its own word.
///
/// Threads on different cores mostly count in different stripes, so that a throttled caller's many refusals don't
/// make them wait for each other.
#[derive(Debug)]
pub(crate) struct Counters([Stripe; STRIPES]);

/// A pair of cache lines, which is what processors fetch.
#[derive(Debug)]
#[cfg_attr(target_has_atomic = "64", repr(align(128)))]
struct Stripe([Tally; KINDS]);

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    Refused,
    Exempt,
    Forged,
    Withdrawn,
    Contended,
    Inherited,
    TakenOver,
    Uncounted,
    RefusedByOverflow,
}

const KINDS: usize = 9;

impl Counters {
    pub(crate) const fn new() -> Self {
        Self([const { Stripe([const { Tally::new(0) }; KINDS]) }; STRIPES])
    }

    /// Out of line, since it would be copied to wherever somebody decides.
    #[inline(never)]
    pub(crate) fn add(&self, count: Count) {
        // ORDERING: a count is read by itself and orders nothing.
        self.0[stripe()].0[count as usize].fetch_add(1, TallyOrdering::Relaxed);
    }

    /// Counts what a request presented; the service that is exempt, if it presented one's secret.
    #[inline]
    pub(crate) fn note(&self, presented: Presented) -> Option<Service> {
        match presented {
            Presented::Absent => None,
            Presented::Forged => {
                self.add(Count::Forged);
                None
            }
            Presented::Service(service) => {
                self.add(Count::Exempt);
                Some(service)
            }
        }
    }

    pub(crate) fn read(&self) -> Counts {
        // ORDERING: as above.
        let sum = |count: Count| {
            self.0.iter().map(|stripe| stripe.0[count as usize].load(TallyOrdering::Relaxed)).sum()
        };
        Counts {
            refused: sum(Count::Refused),
            exempt: sum(Count::Exempt),
            forged: sum(Count::Forged),
            withdrawn: sum(Count::Withdrawn),
            contended: sum(Count::Contended),
            inherited: sum(Count::Inherited),
            taken_over: sum(Count::TakenOver),
            uncounted: sum(Count::Uncounted),
            refused_by_overflow: sum(Count::RefusedByOverflow),
        }
    }
}

/// A number below `STRIPES` that differs between neighbouring threads: each has its stack in pages of its own.
fn stripe() -> usize {
    let here = 0_u8;
    stripe_at((&raw const here).addr())
}

/// Stacks of neighbouring threads are mostly a power of two of pages apart, often with a guard before each that is one as
/// well, and no sum of two powers of two is a multiple of 7: so seven neighbours have seven stripes.
const fn stripe_at(address: usize) -> usize {
    const PAGE_BITS: u32 = 12;
    (address >> PAGE_BITS) % STRIPES
}

/// Counts since the limiter was built. Each is exact; together they are no snapshot of one moment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Counts {
    /// Requests refused, for whatever reason.
    pub refused: u64,
    /// Requests of our own services, which were not counted against anybody.
    pub exempt: u64,
    /// Requests with a credential that is no secret of ours, which were counted like any other.
    pub forged: u64,
    /// Claims taken back because another thread was inserting, or had inserted, the same caller.
    pub withdrawn: u64,
    /// Decisions for a newcomer all of whose candidates were claims at that moment.
    pub contended: u64,
    /// Words taken over with their count, under [`Overflow::Inherit`](crate::Overflow::Inherit).
    pub inherited: u64,
    /// Words taken over and begun afresh, under [`Overflow::Forget`](crate::Overflow::Forget).
    pub taken_over: u64,
    /// Newcomers that passed uncounted, under [`Overflow::Admit`](crate::Overflow::Admit).
    pub uncounted: u64,
    /// Newcomers refused because every candidate restrains somebody who can't be displaced.
    pub refused_by_overflow: u64,
}

#[cfg(target_has_atomic = "64")]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_side_by_side_count_in_stripes_of_their_own() {
        // From 64 KiB to 16 MiB, guarded by 4 KiB to 64 KiB.
        for (stack, guard) in (16..=24).flat_map(|stack| (12..=16).map(move |guard| (1 << stack, 1 << guard)))
        {
            for apart in [stack, stack + guard] {
                let mut counting = [0; STRIPES];
                (0..STRIPES).for_each(|thread| counting[stripe_at((1 << 30) - thread * apart)] += 1);
                assert_eq!(counting, [1; STRIPES], "stacks of {stack} bytes, {guard} of guard");
            }
        }
    }
}
