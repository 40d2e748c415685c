use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tollgate::{Nanos, Seen, Watch};

use crate::mode::Mode;
use crate::watching::addresses::Shown;

/// What the log tells of throttled callers: that a caller becomes refused, that it has recovered, and, at most once a
/// minute, that one looks like an own service. Never one event for each refusal.
pub(crate) struct Journal {
    /// When the list is looked over again.
    tend: AtomicU64,
    /// When the next warning may be given.
    warn: AtomicU64,
    /// Events since the list was looked over.
    told: AtomicU32,
}

/// The list is looked over at most so often.
const EVERY: Nanos = Nanos::from_secs(1);
/// Warnings are at least so far apart.
const BETWEEN_WARNINGS: Nanos = Nanos::from_secs(60);
/// More events than this between two looks are counted and not told.
const MOST_EVENTS: u32 = 10;

impl Journal {
    pub(crate) const fn new() -> Self {
        Self { tend: AtomicU64::new(0), warn: AtomicU64::new(0), told: AtomicU32::new(0) }
    }

    /// A caller's first refusal in a spell.
    pub(crate) fn refused(&self, mode: Mode, caller: Shown) {
        if self.may_tell() {
            match mode {
                Mode::Shadow => {
                    tracing::info!(%caller, "a caller would be refused from now on, were the limit enforced");
                }
                Mode::Enforce | Mode::Off => tracing::info!(%caller, "a caller is refused from now on"),
            }
        }
    }

    /// A caller's first admission after a spell.
    pub(crate) fn recovered(&self, mode: Mode, caller: Shown) {
        if self.may_tell() {
            match mode {
                Mode::Shadow => tracing::info!(%caller, "a caller would no longer be refused"),
                Mode::Enforce | Mode::Off => tracing::info!(%caller, "a caller is no longer refused"),
            }
        }
    }

    fn may_tell(&self) -> bool {
        // ORDERING: a number of events, which orders nothing; here and below.
        self.told.fetch_add(1, Ordering::Relaxed) < MOST_EVENTS
    }

    /// Looks the list over, if it is time: who has recovered, and who looks like an own service.
    #[inline]
    pub(crate) fn tend<const N: usize>(
        &self,
        list: &Watch<N>,
        mode: Mode,
        now: Nanos,
        show: impl Fn(&Seen) -> Shown,
    ) {
        if is_due(&self.tend, now, EVERY) {
            self.look_over(list, mode, now, show);
        }
    }

    #[cold]
    fn look_over<const N: usize>(
        &self,
        list: &Watch<N>,
        mode: Mode,
        now: Nanos,
        show: impl Fn(&Seen) -> Shown,
    ) {
        let untold = self.told.swap(0, Ordering::Relaxed).saturating_sub(MOST_EVENTS);
        if untold > 0 {
            tracing::info!(
                "{untold} more callers were refused or have recovered; see the report of throttled callers"
            );
        }
        for seen in list.recovered(now) {
            self.recovered(mode, show(&seen));
        }
        let mut own = list.snapshot(now).filter(|seen| seen.refused > 0 && seen.finding().is_own());
        if let Some(seen) = own.next()
            && is_due(&self.warn, now, BETWEEN_WARNINGS)
        {
            let others = own.count();
            let is = if mode == Mode::Shadow { "would be" } else { "is being" };
            tracing::warn!(
                caller = %show(&seen),
                refused = seen.refused,
                others,
                "a caller that {is} refused looks like a service of your own: {} Check that it presents the secret that the \
                 gate was built with, in the field that the gate looks at",
                seen.finding().reason()
            );
        }
    }
}

/// Whether it is time; if it is, the next time is `every` later, and one thread alone is told so.
fn is_due(next: &AtomicU64, now: Nanos, every: Nanos) -> bool {
    // ORDERING: whoever swaps first does the work; nothing is handed over.
    let due = next.load(Ordering::Relaxed);
    let later = now.saturating_add(every).0;
    due <= now.0 && next.compare_exchange(due, later, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}
