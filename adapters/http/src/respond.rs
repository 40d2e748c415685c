//! What a gate's responses say.

use std::borrow::Cow;
use std::hint::cold_path;
use std::sync::{Arc, LazyLock};

use tollgate::{Nanos, Reason, Refusal, Standing};

use crate::answer::{Answer, tell_refused};
use crate::decision::{By, Decision, NoPeer, Outcome, Standings};
use crate::fields::{Fields, Member, Merge, Told};
use crate::gate::Gate;
#[cfg(doc)]
use crate::mode::Mode;
use crate::name::{FieldName, Listed, Types};
use crate::reply::Reply;
use crate::request::{RequestFields, may_have};
use crate::tier::{IN_FLIGHT, Tier};

impl Gate {
    /// The fields that a response to this request carries, whoever answers it; none if it was exempt or not counted, or
    /// was decided by another gate. What was given back when the request was [settled](crate::Permit::settle) is there again.
    ///
    /// # Security
    /// A caller is told where it stands alone with budgets that nobody shares with it: a network's or everybody's would tell
    /// it what others do. That such a policy is there, and that it refuses, is no secret.
    pub fn fields(&self, decision: &Decision) -> Option<Fields> {
        let mut fields = Fields::default();
        self.tell::<Listed>(decision, |name, value, _| fields.set(name, value))?;
        Some(fields)
    }

    /// Gives each of them to `add`.
    #[inline]
    pub(crate) fn tell<T: Types>(
        &self,
        decision: &Decision,
        add: impl FnMut(T::Name, T::Value, Merge),
    ) -> Option<()> {
        let is_wanted = self.styles.draft || self.styles.legacy;
        if decision.0.gate != self.id || !is_wanted {
            return None;
        }
        let texts = self.texts.load();
        let list = texts.lists.get(decision.0.class.map_or(0, |class| usize::from(class) + 1))?;
        let mut told = Told::nothing(self.styles);
        match &decision.0.outcome {
            Outcome::Uncounted | Outcome::Exempt(_) => return None,
            Outcome::Admitted(Standings::One([standing])) => {
                let is_refunded = decision.0.refunds.load().has(0);
                let tier = self.tiers.first(decision.0.class);
                told.and(member(tier, standing, is_refunded, decision.0.now));
            }
            Outcome::Admitted(Standings::Several(standings)) => {
                cold_path();
                self.each(decision, standings, &mut told);
            }
            Outcome::Refused { by, refusal, remaining } => {
                cold_path();
                told.and(self.of_refusal(decision, *by, refusal, *remaining));
            }
        }
        told.give::<T>(list, add);
        Some(())
    }

    /// With each policy.
    #[inline(never)]
    fn each<'g>(&'g self, decision: &Decision, standings: &[Standing], told: &mut Told<'g>) {
        let (tiers, refunded) = (self.tiers.chosen(decision.0.class), decision.0.refunds.load());
        for ((standing, tier), place) in standings.iter().zip(tiers).zip(0..) {
            told.and(member(tier, standing, refunded.has(place), decision.0.now));
        }
    }

    /// Of the policy that refused; nothing where the count can't be reached, since nobody knows what remains.
    #[inline(never)]
    fn of_refusal(
        &self,
        decision: &Decision,
        by: By,
        refusal: &Refusal,
        remaining: u32,
    ) -> Option<Member<'_>> {
        if refusal.reason == Reason::Unreachable {
            return None;
        }
        let policy = match by {
            By::Policy(by) => &*self.tiers.chosen(decision.0.class).nth(by)?.name,
            By::InFlight => IN_FLIGHT,
        };
        let more_in = Some(refusal.retry_after).filter(|&wait| wait < Nanos::MAX);
        Some(Member { policy, limit: refusal.limit, remaining, more_in })
    }

    /// The response to answer with, if the request does not pass. The request's own fields say whether it is of gRPC.
    pub fn refusal(&self, decision: &Decision, fields: &(impl RequestFields + ?Sized)) -> Option<Answer> {
        if decision.passes() || decision.0.gate != self.id {
            return None;
        }
        let is_grpc = is_of_grpc(fields);
        self.responded(decision, is_grpc).or_else(|| Answer::refused(self, decision, is_grpc))
    }

    /// What the gate's responder makes of a refusal, if there is one. Clients of gRPC read none but ours.
    fn responded(&self, decision: &Decision, is_grpc: bool) -> Option<Answer> {
        let respond = self.responder.as_ref().filter(|_| !is_grpc)?;
        Some(respond(Answer::refused(self, decision, is_grpc)?, decision))
    }

    /// The same response, not yet written; or the decision again, if the request passes.
    pub(crate) fn reply(
        self: &Arc<Self>,
        decision: Decision,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<Reply, Decision> {
        if decision.passes() {
            return Err(decision);
        }
        let is_grpc = is_of_grpc(fields);
        Ok(Reply::refusal(self, self.responded(&decision, is_grpc), decision, is_grpc))
    }

    /// Gives each field of the refusal that a decision is answered with to `add`; its status and its body.
    pub(crate) fn tell_refusal<T: Types>(
        &self,
        decision: &Decision,
        is_grpc: bool,
        mut add: impl FnMut(T::Name, T::Value),
    ) -> Option<(u16, Cow<'static, str>)> {
        let refusal = decision.refusal().filter(|_| decision.0.gate == self.id)?;
        let Outcome::Refused { by, .. } = decision.0.outcome else { return None };
        let texts = self.texts.load();
        let (policy, used_up) = match by {
            By::InFlight => (IN_FLIGHT, None),
            By::Policy(by) => {
                let (tier, number) = self.tiers.numbered(decision.0.class).nth(by)?;
                (&*tier.name, texts.used_up.get(number).map(String::as_str))
            }
        };
        self.tell::<T>(decision, |name, value, _| add(name, value));
        Some(tell_refused::<T>(policy, used_up, refusal, self.wording, is_grpc, add))
    }

    /// The response to a request that must be counted and whose peer is not known. The log says so at most once a minute,
    /// with an adapter's `advice`: how a peer's address gets into a request in its framework.
    #[cold]
    pub fn no_peer(&self, advice: &str) -> Answer {
        self.log_no_peer(advice, "Answered with 500");
        Answer::no_peer()
    }

    /// Says in the log, at most once a minute, that requests pass uncounted in [`Mode::Shadow`] since their peers are not
    /// known ([`Decision::lacks_peer`]).
    #[cold]
    pub fn tell_uncounted(&self, advice: &str) {
        self.log_no_peer(advice, "Passed uncounted, in shadow mode");
    }

    fn log_no_peer(&self, advice: &str, outcome: &str) {
        if self.notices.may_say_no_peer(self.ticker.now()) {
            tracing::error!(
                "{NoPeer}; {advice} (A Unix socket has no address to limit by.) {outcome}, like others that are not \
                 logged for a minute."
            );
        }
    }

    /// The `401` of an internal route, with a challenge that names the credential's field.
    pub fn unauthorized(&self) -> Answer {
        Answer::unauthorized(&self.challenge)
    }
}

/// Where an admitted caller stands with a policy, if nobody else uses its budget.
#[inline]
fn member<'t>(tier: &'t Tier, standing: &Standing, is_refunded: bool, now: Nanos) -> Option<Member<'t>> {
    if !tier.is_of_callers() {
        return None;
    }
    let refund = if is_refunded { standing.receipt.cost() } else { 0 };
    let limit = standing.limit;
    let remaining = standing.remaining.saturating_add(refund).min(limit);
    let more_in = (remaining < limit).then(|| tier.more_in(standing, now));
    Some(Member { policy: &tier.name, limit, remaining, more_in })
}

static CONTENT_TYPE: LazyLock<FieldName> = LazyLock::new(|| FieldName::new("content-type"));

/// Whether a request is of gRPC.
fn is_of_grpc(fields: &(impl RequestFields + ?Sized)) -> bool {
    const GRPC: &[u8] = b"application/grpc";
    if !may_have(fields, &CONTENT_TYPE) {
        return false;
    }
    let content_type = fields.named(&CONTENT_TYPE).next();
    let kind = content_type.and_then(|content_type| content_type.get(..GRPC.len()));
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case(GRPC))
}
