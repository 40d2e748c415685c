use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tollgate::{
    Account, Basis, BoxedLimiter, Key, Nanos, Note, Presented, Quota, Reason, Receipt, Refusal, Standing,
    Verdict,
};

use crate::flights::Flights;
use crate::leases::{Known, Leases};
use crate::outage::Outage;
use crate::question::{Charged, Question};
use crate::store::Store;
use crate::upkeep::{Condition, Upkeep};

/// One limit of a store, as this node sees it.
pub(crate) struct Budget {
    pub(crate) store: Store,
    pub(crate) quota: Quota,
    pub(crate) account: Account,
    pub(crate) figures: [i64; 6],
    pub(crate) name: String,
    /// `None` in strict mode.
    pub(crate) leases: Option<Leases>,
    pub(crate) upkeep: Upkeep,
    /// What this node admits without its store.
    pub(crate) share: BoxedLimiter,
    /// It has admitted something once.
    pub(crate) shared: AtomicBool,
    pub(crate) flights: Flights,
    pub(crate) outage: Outage,
}

impl Budget {
    /// Decides by what is known here; `None` if the store has to be asked.
    pub(crate) fn known(self: &Arc<Self>, key: Key, cost: u32, now: Nanos) -> Option<Verdict> {
        let limit = self.account.limit();
        if cost > limit {
            return Some(Verdict::Refused(Refusal::new(limit, Nanos::MAX, Reason::CostAboveLimit)));
        }
        let leases = self.leases_at(now).filter(|_| cost > 0)?;
        let tallies = &self.store.0.tallies;
        match leases.spend(key, cost, now) {
            Known::Admitted { remaining, resets_in, ends } => {
                tallies.local.add(1);
                tallies.spent.add(cost.into());
                // What it was charged to is the lease, which its end tells from others.
                let mut standing =
                    Standing::new(limit, remaining, resets_in, Receipt::new(key, ends.0, cost));
                standing.basis = Basis::Leased;
                Some(Verdict::Admitted(standing))
            }
            Known::Refused { retry_after } => {
                tallies.local.add(1);
                Some(Verdict::Refused(Refusal::new(limit, retry_after, Reason::OverLimit)))
            }
            Known::Nothing => None,
        }
    }

    /// The leases, if there are any and their notes are in order; they are put in order in the background.
    pub(crate) fn leases_at(self: &Arc<Self>, now: Nanos) -> Option<&Leases> {
        let leases = self.leases.as_ref()?;
        let condition = self.upkeep.condition(now);
        if condition != Condition::Sound {
            self.sweep(now);
        }
        (condition != Condition::Overdue).then_some(leases)
    }

    #[cold]
    fn sweep(self: &Arc<Self>, now: Nanos) {
        if self.upkeep.begin() {
            let budget = self.clone();
            self.store.0.runtime.spawn_blocking(move || {
                if let Some(leases) = &budget.leases {
                    leases.sweep(now);
                }
                budget.share.sweep(now);
                budget.upkeep.swept(now);
            });
        }
    }

    /// Asks the store, and takes note of what it says; `None` if it says nothing. `wanted` is the cost of all requests that wait, this one included.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        key: Key,
        cost: u32,
        wanted: u32,
        now: Nanos,
    ) -> Option<Verdict> {
        let question = Question { wanted, ..self.question(key, key, cost, now) };
        let owed = question.owed;
        let store = &self.store.0;
        let answer = if self.leases.is_some() && store.link.batches() {
            store.ask_with_others(question).await?
        } else {
            store.link.decide(&[question], true, now, &store.tallies).await.ok()?
        };
        let charge = answer.charges.first().copied().unwrap_or_default();
        self.settle(key, owed, charge.settled, now);
        store.tallies.asked.add(1);
        Some(if answer.admitted {
            Verdict::Admitted(self.admitted(key, cost, charge, answer.now, now))
        } else {
            Verdict::Refused(self.refused(key, cost, charge.before, answer.now, now))
        })
    }

    /// Keeps what an admitted request was charged that nobody waits for any more.
    pub(crate) fn keep(self: &Arc<Self>, key: Key, cost: u32, now: Nanos) {
        let Some(leases) = self.leases_at(now) else { return };
        if leases.ends(key, now).is_some_and(|ends| leases.give_back(key, cost, ends, now)) {
            self.store.0.tallies.leased.add(cost.into());
        }
    }

    /// How much credit there is for a caller.
    pub(crate) fn held(self: &Arc<Self>, key: Key, now: Nanos) -> u32 {
        self.leases_at(now).map_or(0, |leases| leases.held(key, now))
    }

    /// What to ask about a caller. All keys of one question are in the slot of `slot`.
    pub(crate) fn question(self: &Arc<Self>, key: Key, slot: Key, cost: u32, now: Nanos) -> Question {
        let chunk =
            self.leases_at(now).filter(|_| cost > 0).map_or(cost, |leases| leases.chunk(key, cost, now));
        // ORDERING: a flag that stays set; a decision that sees it late owes nothing yet.
        let owed = if self.shared.load(Ordering::Relaxed) {
            self.share.limit().saturating_sub(self.share.peek(key, now).remaining)
        } else {
            0
        };
        Question {
            key: self.stored_at(key, slot),
            figures: self.figures,
            cost,
            wanted: cost,
            chunk,
            divisor: self.store.0.divisor(),
            owed,
        }
    }

    /// Where a caller's state is stored.
    pub(crate) fn stored_at(&self, key: Key, slot: Key) -> String {
        let (prefix, name) = (&self.store.0.prefix, &self.name);
        let (key, slot) = (key.fingerprint(), slot.fingerprint());
        if key == slot {
            format!("{prefix}:{{{slot:016x}}}:{name}")
        } else {
            format!("{prefix}:{{{slot:016x}}}:{name}:{key:016x}")
        }
    }

    /// What was admitted in an outage is charged now, as far as it fits; the rest stays used up here, or every further outage
    /// would grant a share again.
    pub(crate) fn settle(&self, key: Key, owed: u32, settled: u32, now: Nanos) {
        if owed > 0 {
            self.share.clear(key, now);
            if settled < owed {
                let _ = self.share.check_n(key, Presented::Absent, now, owed - settled);
            }
        }
    }

    /// Where a caller stands whose request the store has admitted at its time `then`; what it has charged beyond that is
    /// kept for the next ones.
    pub(crate) fn admitted(
        self: &Arc<Self>,
        key: Key,
        cost: u32,
        Charged { charge: charged, before, .. }: Charged,
        then: Nanos,
        now: Nanos,
    ) -> Standing {
        let limit = self.account.limit();
        let (state, verdict) = self.account.charge(key, before, then, charged);
        if let Verdict::Admitted(said) = verdict
            && cost == 0
        {
            return said;
        }
        let (Some(state), Verdict::Admitted(said)) = (state, verdict) else {
            let (remaining, resets_in) = match verdict {
                Verdict::Admitted(said) => (said.remaining, said.resets_in),
                // The script and the core never disagree; if they did, the store is right.
                _ => (0, self.account.window()),
            };
            return Standing::new(limit, remaining, resets_in, Receipt::new(key, 0, cost));
        };
        let credit = charged.saturating_sub(cost);
        if let Some(leases) = self.leases_at(now) {
            // Whoever spends it may have read the clock a whole wait ago.
            let wait = Nanos::from_duration(self.store.0.link.wait);
            let lasts = self.account.lasts(state, then);
            // And its clock may be slower than the store's by a thousandth.
            let lasts = lasts.saturating_sub(Nanos(lasts.0 / 1_000)).saturating_sub(wait);
            let said = Note { lasts: said.resets_in, number: said.remaining };
            leases.deposit(key, charged, credit, lasts, said, now);
            self.store.0.tallies.leased.add(credit.into());
        }
        Standing::new(limit, said.remaining + credit, said.resets_in, Receipt::new(key, state, cost))
    }

    /// What a caller is told whose request the store has refused at its time `then`.
    pub(crate) fn refused(
        self: &Arc<Self>,
        key: Key,
        cost: u32,
        before: Option<u64>,
        then: Nanos,
        now: Nanos,
    ) -> Refusal {
        match self.account.charge(key, before, then, cost).1 {
            Verdict::Refused(refusal) => {
                if let Some(leases) = self.leases_at(now) {
                    leases.refuse(key, cost, refusal.retry_after, now);
                }
                refusal
            }
            // As above.
            _ => Refusal::new(self.account.limit(), self.account.window(), Reason::OverLimit),
        }
    }
}
