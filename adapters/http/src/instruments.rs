//! What a gate decides, counted for whoever collects it through the facade `metrics`.

#[cfg(not(feature = "metrics"))]
use crate::{decision::Parts, gate::Gate, tier::Tier};

#[cfg(feature = "metrics")]
mod part;

#[cfg(feature = "metrics")]
pub(crate) use through_metrics::Instruments;

/// What is to be counted.
#[derive(Default)]
pub(crate) struct Counted {
    pub(crate) is_wanted: bool,
    /// The services' names.
    pub(crate) services: Vec<String>,
}

/// Without the feature there are none.
#[cfg(not(feature = "metrics"))]
pub(crate) enum Instruments {}

#[cfg(not(feature = "metrics"))]
impl Instruments {
    pub(crate) fn new<'t>(counted: Counted, _: impl Iterator<Item = &'t Tier>) -> Option<Self> {
        debug_assert!(!counted.is_wanted, "the builder can't be asked for them");
        drop(counted.services);
        None
    }

    pub(crate) fn count(&self, _: &Gate, _: &Parts) {
        match *self {}
    }
}

#[cfg(feature = "metrics")]
mod through_metrics {
    use super::Counted;
    use super::part::{CounterPart, GaugePart};
    use metrics::{Counter, counter, describe_counter, describe_gauge, gauge};
    use tollgate::{BoxedLimiter, Counts, Finding};

    use crate::credential::Scheme;
    use crate::decision::{By, Identity, Outcome, Parts};
    use crate::gate::Gate;
    use crate::mode::Mode;
    use crate::tier::Tier;
    use crate::watching::kind;

    /// Handles of a recorder, so that nothing is looked up where requests are decided.
    pub(crate) struct Instruments {
        /// Of the policies and then of the classes.
        tiers: Vec<OfTier>,
        in_flight: [Counter; 2],
        services: Vec<(String, Counter)>,
        forged: Counter,
        near: GaugePart,
        findings: Vec<(&'static str, GaugePart, GaugePart)>,
        lost: CounterPart,
    }

    struct OfTier {
        admitted: Counter,
        refused: Counter,
        would_refuse: Counter,
        table: Option<OfTable>,
    }

    struct OfTable {
        restraining: GaugePart,
        slots: GaugePart,
        overflow: [CounterPart; 4],
    }

    /// What an overflow comes to, as a label.
    const OVERFLOWS: [&str; 4] = ["inherited", "taken_over", "uncounted", "refused"];

    const FINDINGS: [Finding; 4] = [
        Finding::OneCaller,
        Finding::SharedAddress,
        Finding::OwnService(tollgate::Clue::SecretFails),
        Finding::Forging,
    ];

    impl Instruments {
        /// From the recorder that is installed now.
        pub(crate) fn new<'t>(counted: Counted, tiers: impl Iterator<Item = &'t Tier>) -> Option<Self> {
            if !counted.is_wanted {
                return None;
            }
            describe();
            let of_tier = |tier: &Tier| {
                OfTier {
                admitted: decisions(&tier.name, "admitted"),
                refused: decisions(&tier.name, "refused"),
                would_refuse: decisions(&tier.name, "would_refuse"),
                table: tier.kept().map(|_| {
                    OfTable {
                    restraining: GaugePart::new(gauge!("tollgate_table_restraining_slots", "policy" => tier.name.clone())),
                    slots: GaugePart::new(gauge!("tollgate_table_slots", "policy" => tier.name.clone())),
                    overflow: OVERFLOWS.map(|became| {
                        CounterPart::new(counter!("tollgate_overflow_total", "policy" => tier.name.clone(), "became" => became))
                    }),
                }
                }),
            }
            };
            let of_finding = |finding: Finding| {
                let kind = kind(finding);
                let callers = gauge!("tollgate_throttled_callers", "finding" => kind);
                let refusals = gauge!("tollgate_throttled_refusals", "finding" => kind);
                (kind, GaugePart::new(callers), GaugePart::new(refusals))
            };
            Some(Self {
                tiers: tiers.map(of_tier).collect(),
                in_flight: ["refused", "would_refuse"]
                    .map(|outcome| decisions(crate::tier::IN_FLIGHT, outcome)),
                services: counted
                    .services
                    .into_iter()
                    .map(|name| (name.clone(), counter!("tollgate_exempt_total", "service" => name)))
                    .collect(),
                forged: counter!("tollgate_forged_total"),
                near: GaugePart::new(gauge!("tollgate_near_limit_callers")),
                findings: FINDINGS.map(of_finding).into(),
                lost: CounterPart::new(counter!("tollgate_overlooked_refusals_total")),
            })
        }

        /// Counts one decision: of a request that passes by each of its policies, of a refusal by the one that refused.
        pub(crate) fn count(&self, gate: &Gate, decision: &Parts) {
            match &decision.identity {
                // Users have bearer tokens of their own, which are no forgeries.
                Identity::Forged if gate.field.scheme == Scheme::Whole => self.forged.increment(1),
                Identity::Forged | Identity::Absent | Identity::Service(_) => {}
            }
            match &decision.outcome {
                Outcome::Uncounted => {}
                Outcome::Exempt(_) => {
                    let name = decision.identity.service();
                    let known = self.services.iter().find(|(service, _)| Some(service.as_str()) == name);
                    if let Some((_, counter)) = known {
                        counter.increment(1);
                    }
                }
                Outcome::Admitted(_) => {
                    let tiers = gate.tiers.numbers(decision.class).filter_map(|index| self.tiers.get(index));
                    tiers.for_each(|tier| tier.admitted.increment(1));
                }
                Outcome::Refused { by: By::InFlight, .. } => {
                    let [refused, would_refuse] = &self.in_flight;
                    (if decision.mode == Mode::Shadow { would_refuse } else { refused }).increment(1);
                }
                Outcome::Refused { by: By::Policy(by), .. } => {
                    let tier =
                        gate.tiers.numbers(decision.class).nth(*by).and_then(|index| self.tiers.get(index));
                    let Some(tier) = tier else { return };
                    (if decision.mode == Mode::Shadow { &tier.would_refuse } else { &tier.refused })
                        .increment(1);
                }
            }
        }
    }

    impl Gate {
        /// Brings to date what is looked at and not counted: how full the tables are, and who is throttled. To be called
        /// before each collection; it reads all of the tables. Gates of one process add up where a label does not tell them
        /// apart. With the feature `metrics`, and nothing unless the gate was
        /// [built for it](crate::GateBuilder::metrics).
        pub fn observe(&self) {
            let Some(instruments) = &self.instruments else { return };
            if let Some(shared) = &self.shared {
                shared.observe();
            }
            let now = self.ticker.now();
            for (tier, of) in self.tiers.all().zip(&instruments.tiers) {
                if let (Some(kept), Some(table)) = (tier.kept(), &of.table) {
                    table.observe(kept.limiter(), now);
                }
            }
            let report = self.throttled();
            let listed = || report.callers.iter();
            let refused = |kind| {
                listed()
                    .filter(move |caller| caller.refused > 0 && crate::watching::kind(caller.finding) == kind)
            };
            for &(kind, ref callers, ref refusals) in &instruments.findings {
                callers.set(whole(refused(kind).count()));
                refusals.set(refused(kind).map(|caller| u64::from(caller.refused)).sum());
            }
            instruments.near.set(whole(listed().filter(|caller| caller.refused == 0).count()));
            instruments.lost.reach(report.lost.refusals);
        }
    }

    impl OfTable {
        fn observe(&self, limiter: &BoxedLimiter, now: tollgate::Nanos) {
            let occupancy = limiter.occupancy(now);
            self.restraining.set(whole(occupancy.restraining));
            self.slots.set(whole(occupancy.capacity));
            let Counts { inherited, taken_over, uncounted, refused_by_overflow, .. } = limiter.counts();
            let counts = [inherited, taken_over, uncounted, refused_by_overflow];
            self.overflow.iter().zip(counts).for_each(|(counter, count)| counter.reach(count));
        }
    }

    fn decisions(policy: &str, outcome: &'static str) -> Counter {
        counter!("tollgate_decisions_total", "policy" => policy.to_owned(), "outcome" => outcome)
    }

    fn whole(number: usize) -> u64 {
        u64::try_from(number).unwrap_or(u64::MAX)
    }

    fn describe() {
        for (name, text) in [
            (
                "tollgate_decisions_total",
                "Decisions by policy: admitted, refused, or in shadow mode would_refuse",
            ),
            ("tollgate_exempt_total", "Requests of our own services, which are not counted against anybody"),
            ("tollgate_forged_total", "Requests with a credential that is no secret of ours"),
            ("tollgate_overflow_total", "Newcomers that found no room in a table, by what became of them"),
            (
                "tollgate_overlooked_refusals_total",
                "Refusals of callers for whom the list of throttled callers had no place",
            ),
        ] {
            describe_counter!(name, text);
        }
        for (name, text) in [
            ("tollgate_table_slots", "Callers that have room in a table"),
            ("tollgate_table_restraining_slots", "Slots of a table that restrain somebody"),
            (
                "tollgate_near_limit_callers",
                "Callers that have used 80 % of their limit and are not refused yet",
            ),
            ("tollgate_throttled_callers", "Callers that are being refused, by what they look like"),
            ("tollgate_throttled_refusals", "Refusals of these callers in their present spells"),
        ] {
            describe_gauge!(name, text);
        }
    }
}
