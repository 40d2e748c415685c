//! The straight way through a gate, which most requests take.

use std::hint::cold_path;
use std::net::IpAddr;

use tollgate::{Key, Nanos, Origin, Presented, Verdict};

use crate::decision::{By, Decision, Identity, Outcome, Parts, Standings};
use crate::gate::Gate;
use crate::mode::Mode;
use crate::name::FieldName;
use crate::refunds::Refunds;
use crate::request::RequestFields;
use crate::watching::Caller;

impl Gate {
    /// Decides a request on ordinary terms, of no service of ours, if the gate has one table and is not off, as
    /// [`Gate::examine_all`] would; `None` if nothing is decided.
    #[inline]
    pub(crate) fn decide_straight(
        &self,
        presented: Presented,
        peer: &IpAddr,
        fields: &(impl RequestFields + ?Sized),
    ) -> Option<Decision> {
        let mode = self.mode.load();
        if !self.has_one_table || mode == Mode::Off || matches!(presented, Presented::Service(_)) {
            return None;
        }
        Some(match &self.source_field {
            None => {
                let origin = Origin::peer(*peer).at(self.prefixes);
                self.decide_from(origin, mode, presented, peer, fields)
            }
            Some(name) => self.decide_behind_proxies(name, mode, presented, peer, fields),
        })
    }

    // By itself, so that what else an origin may be is not what is looked at above.
    #[inline(never)]
    fn decide_behind_proxies(
        &self,
        name: &FieldName,
        mode: Mode,
        presented: Presented,
        peer: &IpAddr,
        fields: &(impl RequestFields + ?Sized),
    ) -> Decision {
        let origin = self.origins.origin(*peer, fields.named(name));
        self.decide_from(origin, mode, presented, peer, fields)
    }

    #[expect(
        clippy::inline_always,
        reason = "behind a call, all that is known here is written to memory and read again"
    )]
    #[inline(always)]
    fn decide_from(
        &self,
        origin: Origin,
        mode: Mode,
        presented: Presented,
        peer: &IpAddr,
        fields: &(impl RequestFields + ?Sized),
    ) -> Decision {
        let now = self.ticker.now();
        self.notices.look(&self.source, &self.origins, peer, fields);
        // The first policy's networks are the gate's own.
        let key = self.keyer.address(origin.network());
        // Nobody waits for the sweep that this may start.
        let _ = self.table.see_to_it(now);
        let is_forged = presented == Presented::Forged;
        let at_home = if is_forged { None } else { self.table.limiter().check_at_home(key, now) };
        let decision = match at_home {
            // Here and not where other verdicts become decisions, so that it is put together from registers.
            Some(Verdict::Admitted(standing)) => {
                let is_seen = standing.is_near_limit();
                let outcome = Outcome::Admitted(Standings::One([standing]));
                let decision = self.counted(Identity::Absent, origin, outcome, now, mode);
                if !is_seen {
                    return decision;
                }
                cold_path();
                decision
            }
            Some(Verdict::Refused(refusal)) => {
                let outcome = Outcome::Refused { by: By::Policy(0), refusal, remaining: 0 };
                // A copy in memory, so that the other one stays in registers; below too.
                let copy = origin;
                self.counted_elsewhere(outcome, &copy, now, mode)
            }
            Some(Verdict::Exempt(_)) | None => {
                let copy = origin;
                self.decide_elsewhere(is_forged, key, &copy, now, mode)
            }
        };
        if let Some(watching) = &self.watching {
            let caller = || Caller { key, peer: Some(*peer), is_named: false };
            watching.look(self, &decision.0, caller, presented, fields);
        }
        decision
    }

    /// The same where nothing is known yet.
    #[inline(never)]
    fn decide_elsewhere(
        &self,
        is_forged: bool,
        key: Key,
        origin: &Origin,
        now: Nanos,
        mode: Mode,
    ) -> Decision {
        let (presented, identity) = if is_forged {
            (Presented::Forged, Identity::Forged)
        } else {
            (Presented::Absent, Identity::Absent)
        };
        let outcome = match self.table.limiter().check(key, presented, now) {
            Verdict::Exempt(service) => Outcome::Exempt(service),
            Verdict::Admitted(standing) => Outcome::Admitted(Standings::One([standing])),
            Verdict::Refused(refusal) => Outcome::Refused { by: By::Policy(0), refusal, remaining: 0 },
        };
        self.counted(identity, *origin, outcome, now, mode)
    }

    #[inline(never)]
    fn counted_elsewhere(&self, outcome: Outcome, origin: &Origin, now: Nanos, mode: Mode) -> Decision {
        self.counted(Identity::Absent, *origin, outcome, now, mode)
    }

    #[inline]
    fn counted(
        &self,
        identity: Identity,
        origin: Origin,
        outcome: Outcome,
        now: Nanos,
        mode: Mode,
    ) -> Decision {
        self.done(Parts {
            gate: self.id,
            identity,
            origin: Some(origin),
            outcome,
            class: None,
            now,
            mode,
            lacks_peer: false,
            refunds: Refunds::none(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use tollgate::{Key, Keyer, Overflow, Quota};

    use super::*;
    use crate::clock::{Clock, ManualClock};
    use crate::decision::NoPeer;
    use crate::examine::Examined;
    use crate::fields::Fields;
    use crate::terms::Plan;
    use crate::watching::Throttled;

    const SECRET: &str = "a secret of a service, long enough";

    /// More than the table has room for, one of them in two spellings, one a proxy, and one that is not known.
    fn peer(number: u8) -> Option<IpAddr> {
        match number {
            0 => None,
            1 => "10.0.0.1".parse().ok(),
            2 => "2001:db8::7".parse().ok(),
            3 => "::ffff:203.0.113.9".parse().ok(),
            4..20 => "203.0.113.9".parse().ok(),
            other => Some([203, 0, 113, other].into()),
        }
    }

    const FIELDS: [&[(&str, &str)]; 5] = [
        &[],
        &[("x-internal-token", SECRET)],
        &[("x-internal-token", "forged")],
        &[("x-internal-token", SECRET), ("x-internal-token", SECRET)],
        &[("x-forwarded-for", "198.51.100.1, 198.51.100.2")],
    ];

    #[derive(Clone, Debug)]
    struct Step {
        peer: u8,
        fields: usize,
        wait: u64,
        mode: u8,
        plan: u8,
        is_free: bool,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = (0..60_u8, 0..FIELDS.len(), 0..60_u64, 0..60_u8, 0..30_u8, any::<bool>());
        let step = step.prop_map(|(peer, fields, wait, mode, plan, is_free)| Step {
            peer,
            fields,
            wait,
            mode,
            plan,
            is_free,
        });
        vec(step, 1..150)
    }

    /// Most requests are on ordinary terms.
    fn plan(number: u8) -> Plan {
        match number {
            0 => Plan { skip: true, ..Plan::ORDINARY },
            1 => Plan { cost: 3, ..Plan::ORDINARY },
            2 => Plan { class: Some(0), ..Plan::ORDINARY },
            3 => Plan { caller: Some(Key::from_fingerprint(u64::MAX / 3)), ..Plan::ORDINARY },
            4 => Plan { scope: Some(Key::from_fingerprint(u64::MAX / 5)), ..Plan::ORDINARY },
            _ => Plan::ORDINARY,
        }
    }

    fn gate(quota: Quota, overflow: Overflow, is_behind_proxies: bool, clock: &ManualClock) -> Gate {
        let gate = Gate::builder(quota)
            .capacity(16)
            .overflow(overflow)
            .charge_if(|status| status < 500)
            .class("paid", quota)
            .service("edge", SECRET)
            .keyer(Keyer::new(*b"a seed for tests"))
            .clock(Clock::Manual(clock.clone()));
        let gate = if is_behind_proxies {
            gate.source(crate::Source::XForwardedFor).trust_network("10.0.0.0/8")
        } else {
            gate
        };
        gate.build().unwrap()
    }

    /// What is decided, and what its response is told, before it is settled and after.
    fn asked(gate: &Gate, step: &Step) -> Option<(Parts, [Option<Fields>; 2])> {
        let (plan, peer, fields) = (plan(step.plan), peer(step.peer), FIELDS[step.fields]);
        let presented = gate.verify(fields);
        let straight = match peer {
            Some(peer) if plan.is_ordinary() => gate.decide_straight(presented, &peer, fields),
            _ => None,
        };
        let is_ours = matches!(presented, Presented::Service(_));
        let is_expected = gate.has_one_table && gate.mode() != Mode::Off && !is_ours;
        assert_eq!(straight.is_some(), is_expected && peer.is_some() && plan.is_ordinary());
        let decision = match straight {
            Some(decision) => decision,
            None => match gate.examine(&plan, presented, peer, fields, true) {
                Ok(Examined::Decided(decision, None)) => decision,
                Err(NoPeer) => return None,
                Ok(_) => panic!("there is no store and no limit of requests under way"),
            },
        };
        let before = gate.fields(&decision);
        gate.settle_decision(&decision, if step.is_free { 503 } else { 200 }, None);
        let told = [before, gate.fields(&decision)];
        Some((Parts { gate: 0, ..Arc::into_inner(decision.0).unwrap() }, told))
    }

    // Whoever finds a sweep due starts it.
    #[test]
    fn a_sweep_begins_on_either_way() {
        for has_one_table in [true, false] {
            let clock = ManualClock::new();
            let gate = gate(Quota::per_minute(5), Overflow::Inherit, false, &clock);
            let gate = Gate { has_one_table, ..gate };
            clock.advance(gate.limiter().sweep_interval().into());
            let _ = gate.decide(peer(20), &()).unwrap();
            let begun_again = gate.tiers.first.kept().unwrap().see_to_it(clock.now());
            assert!(begun_again.is_none(), "the decision has begun no sweep");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        // The long way is the slow obvious version.
        #[test]
        fn the_straight_way_leads_where_the_long_one_does(
            steps in steps(),
            quota in prop_oneof![
                Just(Quota::per_minute(5)),
                Just(Quota::per_minute(5).sliding()),
                Just(Quota::per_minute(5).burst(3)),
            ],
            overflow in prop_oneof![
                Just(Overflow::Inherit),
                Just(Overflow::Forget),
                Just(Overflow::Admit),
                Just(Overflow::Refuse),
            ],
            is_behind_proxies: bool,
        ) {
            let clock = ManualClock::new();
            let straight = gate(quota, overflow, is_behind_proxies, &clock);
            let long = Gate { has_one_table: false, ..gate(quota, overflow, is_behind_proxies, &clock) };
            prop_assert!(straight.has_one_table);
            for step in steps {
                clock.advance(Duration::from_secs(step.wait / 4));
                if let Some(mode) = [Mode::Off, Mode::Shadow, Mode::Enforce].get(usize::from(step.mode)) {
                    straight.set_mode(*mode);
                    long.set_mode(*mode);
                }
                prop_assert_eq!(asked(&straight, &step), asked(&long, &step));
            }
            prop_assert_eq!(straight.limiter().counts(), long.limiter().counts());
            // The report tells the time of day, which is another for each.
            let seen = |gate: &Gate| {
                let callers = gate.throttled().callers.into_iter();
                callers.map(|caller| Throttled { first: 0.0, last: 0.0, ..caller }).collect::<Vec<_>>()
            };
            prop_assert_eq!(seen(&straight), seen(&long));
        }
    }
}
