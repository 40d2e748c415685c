//! Gates whose budgets are in a store, without adapters.

use std::error::Error;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate_http::{
    AllVerdict, Basis, ChangeError, Decision, Gate, GateBuilder, GateError, Key, Keyer, Mode, Nanos, Policy,
    Quota, Reason, Refusal, SharedAnswer, SharedBudgets, SharedPolicy, SharedStore, SharedVerdict, Standing,
    Verdict,
};

use crate::support::{PEER, SECRET, field, five, lines};

/// A store that says what it is told to say.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<Said>>);

#[derive(Default)]
struct Said {
    /// What a node knows.
    known: Option<SharedVerdict>,
    /// What the store answers; nothing, as long as there is none.
    answer: Option<SharedVerdict>,
    policies: Vec<(String, u32, usize)>,
    asked: Vec<(Vec<usize>, u32)>,
    refunds: Vec<Vec<usize>>,
}

impl SharedStore for Store {
    fn keyer(&self) -> Keyer {
        Keyer::new([7; 16])
    }

    fn budgets(
        &self,
        policies: &[SharedPolicy<'_>],
    ) -> Result<Arc<dyn SharedBudgets>, Box<dyn Error + Send + Sync>> {
        if policies.iter().any(|policy| policy.name == "wrong") {
            return Err("the policy is called wrong: call it otherwise".into());
        }
        let told = policies.iter().map(|policy| (policy.name.into(), policy.quota.limit(), policy.capacity));
        self.0.lock().unwrap().policies = told.collect();
        Ok(Arc::new(self.clone()))
    }
}

impl SharedBudgets for Store {
    fn try_check(&self, _: &[(usize, Key)], _: u32, _: Nanos) -> Option<SharedVerdict> {
        self.0.lock().unwrap().known.clone()
    }

    fn check(&self, limits: &[(usize, Key)], cost: u32, _: Nanos) -> SharedAnswer {
        let mut said = self.0.lock().unwrap();
        said.asked.push((limits.iter().map(|(number, _)| *number).collect(), cost));
        match said.answer.clone() {
            Some(answer) => Box::pin(std::future::ready(answer)),
            None => Box::pin(std::future::pending()),
        }
    }

    fn refund(&self, limits: &[usize], _: &[Standing], _: Nanos) {
        self.0.lock().unwrap().refunds.push(limits.into());
    }
}

impl Store {
    fn answers(&self, answer: SharedVerdict) {
        self.0.lock().unwrap().answer = Some(answer);
    }

    fn asked(&self) -> Vec<(Vec<usize>, u32)> {
        std::mem::take(&mut self.0.lock().unwrap().asked)
    }
}

fn refusal(reason: Reason) -> SharedVerdict {
    AllVerdict::Refused { by: 0, refusal: Refusal::new(5, Nanos::from_secs(60), reason) }
}

/// What a limiter of so many answers to a first request, once for each limit.
fn admitted(limits: usize, basis: Basis) -> SharedVerdict {
    let gate = Gate::builder(Quota::per_minute(5)).build().unwrap();
    let decision = gate.decide(Some(PEER), &()).unwrap();
    let mut standing = decision.standings()[0];
    standing.basis = basis;
    AllVerdict::Admitted(std::iter::repeat_n(standing, limits).collect())
}

fn shared(store: &Store) -> GateBuilder {
    five().0.shared(store.clone())
}

/// What is there without waiting.
fn now<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

#[test]
fn limits_are_numbered_as_they_are_made() {
    let store = Store::default();
    let gate = shared(&store)
        .class("paid", Quota::per_minute(50))
        .class("free", Quota::per_minute(2))
        .policy(Policy::new("network", Quota::per_minute(30)).v4_prefix(24).capacity(99))
        .policy(Policy::new("all", Quota::per_minute(1_000)).for_everyone());
    let gate = Arc::new(gate.capacity(77).build().unwrap());
    let policies =
        [("default", 5, 77), ("network", 30, 99), ("all", 1_000, 77), ("paid", 50, 77), ("free", 2, 77)];
    assert_eq!(
        store.0.lock().unwrap().policies,
        policies.map(|(name, limit, capacity)| (name.to_owned(), limit, capacity))
    );
    store.answers(admitted(3, Basis::Own));
    let decided = now(gate.decide_shared(Some(PEER), &())).unwrap().unwrap();
    assert_eq!((decided.standings().len(), store.asked()), (3, vec![(vec![0, 1, 2], 1)]));
    let (_, permit) = now(gate.terms().class("free").cost(2).admit_shared(Some(PEER), &())).unwrap().unwrap();
    assert_eq!(store.asked(), [(vec![4, 1, 2], 2)]);
    assert!(permit.unwrap().settle(200, None).is_some());
    assert!(store.0.lock().unwrap().refunds.is_empty());
}

#[test]
fn what_is_known_is_not_asked() {
    let store = Store::default();
    let gate = shared(&store).charge_if(|status| status < 500).build().unwrap();
    let gate = Arc::new(gate);
    store.0.lock().unwrap().known = Some(admitted(1, Basis::Leased));
    assert!(gate.decide(Some(PEER), &()).unwrap().passes());
    let (_, permit) = gate.terms().admit(Some(PEER), &()).unwrap();
    let fields = permit.unwrap().settle(503, None).unwrap();
    assert_eq!(fields.rate_limit(), r#""default";r=5"#);
    assert_eq!((store.asked(), store.0.lock().unwrap().refunds.len()), (vec![], 1));
}

#[test]
fn who_can_t_wait_is_refused_and_never_let_in() {
    let store = Store::default();
    store.answers(admitted(1, Basis::Own));
    for (mode, passes) in [(Mode::Enforce, false), (Mode::Shadow, true)] {
        let gate = Arc::new(shared(&store).mode(mode).in_flight(1).build().unwrap());
        for _ in 0..2 {
            let decision = gate.decide(Some(PEER), &()).unwrap();
            assert!(is_unreachable(&decision) && decision.passes() == passes);
            // Nor is it under way, or it would be refused for that.
            let (decision, permit) = gate.terms().admit(Some(PEER), &()).unwrap();
            assert!(is_unreachable(&decision) && permit.is_some() == passes);
        }
        assert_eq!(store.asked(), []);
        let own = gate.decide(None, &lines(&gate, [SECRET])[..]).unwrap();
        assert_eq!(own.identity().service(), Some("edge"));
        assert_eq!(gate.limiter().counts().exempt, 1);
    }
}

fn is_unreachable(decision: &Decision) -> bool {
    matches!(decision.verdict(), Some(Verdict::Refused(refusal)) if refusal.reason == Reason::Unreachable)
}

// Neither let in nor answered without words.
#[test]
fn a_store_that_names_no_policy_of_the_gate_refuses_by_the_last() {
    for (by, policy) in [(0, "default"), (1, "all"), (2, "all"), (usize::MAX, "all")] {
        let store = Store::default();
        let gate = shared(&store).policy(Policy::new("all", Quota::per_minute(9)).for_everyone());
        let gate = Arc::new(gate.build().unwrap());
        store.answers(AllVerdict::Refused {
            by,
            refusal: Refusal::new(5, Nanos::from_secs(60), Reason::OverLimit),
        });
        let decision = now(gate.decide_shared(Some(PEER), &())).unwrap().unwrap();
        let answer = gate.refusal(&decision, &()).unwrap();
        assert_eq!(answer.status(), 429);
        assert_eq!(field(&answer, "ratelimit"), format!(r#""{policy}";r=0;t=60"#));
        assert!(answer.body().contains(&format!(r#""violated-policies":["{policy}"]"#)), "{}", answer.body());
    }
}

#[test]
fn only_a_limit_that_is_used_up_is_a_strike() {
    for (reason, strikes) in [(Reason::OverLimit, true), (Reason::Share, false), (Reason::Unreachable, false)]
    {
        let store = Store::default();
        let gate = shared(&store).penalty(2, Duration::from_mins(1), Duration::from_mins(10));
        let gate = Arc::new(gate.build().unwrap());
        store.answers(refusal(reason));
        let ask = || now(gate.decide_shared(Some(PEER), &())).unwrap().unwrap().refusal().unwrap().reason;
        assert_eq!(ask(), reason);
        assert_eq!(ask(), if strikes { Reason::Penalty } else { reason });
        store.answers(admitted(1, Basis::Own));
        let passes = now(gate.decide_shared(Some(PEER), &())).unwrap().unwrap().passes();
        assert_eq!(passes, !strikes, "{reason:?}");
        // Whoever is out is not asked about.
        assert_eq!(store.asked().len(), if strikes { 2 } else { 3 });
    }
}

#[test]
fn who_gives_up_waiting_is_no_longer_under_way() {
    let store = Store::default();
    let gate = Arc::new(shared(&store).in_flight(1).build().unwrap());
    let is_refused = || {
        let mut future = pin!(gate.terms().admit_shared(Some(PEER), &()));
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok((decision, _))) => !decision.passes(),
            _ => false,
        }
    };
    let mut waiting = Box::pin(gate.terms().admit_shared(Some(PEER), &()));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert!(is_refused());
    drop(waiting);
    assert!(!is_refused());
    // A refusal makes room as well, and a permit does when it is dropped.
    store.answers(refusal(Reason::OverLimit));
    assert!(now(gate.terms().admit_shared(Some(PEER), &())).unwrap().unwrap().1.is_none());
    store.answers(admitted(1, Basis::Own));
    let permit = now(gate.terms().admit_shared(Some(PEER), &())).unwrap().unwrap().1;
    assert!(permit.is_some() && is_refused());
    drop(permit);
    assert!(!is_refused());
}

// Whoever would be refused is counted nowhere, also while it passes.
#[test]
fn who_would_be_refused_is_not_under_way() {
    let store = Store::default();
    let gate = Arc::new(shared(&store).mode(Mode::Shadow).in_flight(1).build().unwrap());
    store.answers(refusal(Reason::OverLimit));
    let admit = || now(gate.terms().admit_shared(Some(PEER), &())).unwrap().unwrap();
    let (_, permit) = admit();
    assert!(permit.is_some());
    store.answers(admitted(1, Basis::Own));
    let (decision, second) = admit();
    assert!(!decision.is_over_limit() && second.is_some());
    assert!(admit().0.is_over_limit());
    drop(permit);
    assert!(admit().0.is_over_limit());
    drop(second);
    assert!(!admit().0.is_over_limit());
}

#[test]
fn refusals_say_what_they_rest_on() {
    let store = Store::default();
    let gate = Arc::new(shared(&store).legacy_fields(true).build().unwrap());
    for (reason, status, sentence) in [
        (Reason::OverLimit, 429, "The limit of 5 requests in 60 s is used up. Try again in 60 s."),
        (Reason::Share, 429, "This server's share of the limit, 5 requests, is used up. Try again in 60 s."),
        (Reason::Unreachable, 503, "Requests can't be counted at the moment. Try again in 60 s."),
    ] {
        store.answers(refusal(reason));
        let decision = now(gate.decide_shared(Some(PEER), &())).unwrap().unwrap();
        let answer = gate.refusal(&decision, &()).unwrap();
        let problem: serde_json::Value = serde_json::from_str(answer.body()).unwrap();
        assert_eq!((answer.status(), &problem["status"]), (status, &status.into()));
        assert_eq!(
            (&problem["detail"], &problem["violated-policies"][0]),
            (&sentence.into(), &"default".into())
        );
        let tells_what_remains = answer.fields().any(|field| field.name == "ratelimit");
        let tells_by_old_names = answer.fields().any(|field| field.name == "x-ratelimit-remaining");
        assert_eq!((tells_what_remains, tells_by_old_names), (status == 429, status == 429));
    }
    assert_eq!(gate.throttled().callers[0].refused, 3);
}

#[test]
fn what_can_t_work_is_told() {
    let store = Store::default();
    let wrong = shared(&store).policy_name("wrong").build().unwrap_err();
    assert_eq!(wrong.to_string(), "the shared store: the policy is called wrong: call it otherwise");
    assert_eq!(shared(&store).keyer(Keyer::new([8; 16])).build().unwrap_err(), GateError::TwoSeeds);
    let gate = shared(&store).keyer(Keyer::new([7; 16])).build().unwrap();
    assert_eq!(gate.set_quota("default", Quota::per_minute(6)), Err(ChangeError::Shared));
    assert_eq!(gate.quota(), Quota::per_minute(5));
}
