use std::fmt;
use std::hint::cold_path;
use std::net::IpAddr;
use std::sync::Arc;

use tollgate::Presented;

use crate::decision::{Decision, NoPeer};
use crate::examine::Admission;
use crate::gate::Gate;
use crate::pending::Pending;
use crate::permit::{Permit, UnderWay};
use crate::reply::Reply;
use crate::request::RequestFields;
use crate::terms::Terms;

/// What a service stands behind, as an adapter's middleware keeps it: the limits of a gate, or its guard.
///
/// `T` is the function that says on which terms a request is decided: a `dyn Fn` of what the adapter shows it of a request.
#[must_use = "nobody is limited by a checkpoint that no request passes"]
pub enum Checkpoint<T: ?Sized> {
    /// Each request is decided, on the terms that are said, if any are.
    Limits(Arc<Gate>, Option<Arc<T>>),
    /// Only our own services pass. It limits nobody.
    Guard(Arc<Gate>),
}

impl<T: ?Sized> Checkpoint<T> {
    /// Limits on ordinary terms.
    pub fn limits(gate: impl Into<Arc<Gate>>) -> Self {
        Self::Limits(gate.into(), None)
    }

    /// A guard.
    pub fn guard(gate: impl Into<Arc<Gate>>) -> Self {
        Self::Guard(gate.into())
    }

    /// The same limits on these terms. A guard has none.
    pub fn on(self, terms: Arc<T>) -> Self {
        match self {
            Self::Limits(gate, _) => Self::Limits(gate, Some(terms)),
            Self::Guard(_) => self,
        }
    }

    /// Lets a request go on at once, if nothing but the caller's own count has a say in that: most are such. One that carries the
    /// credential's field does not, whatever is in it.
    ///
    /// `peer` is where the connection comes from.
    ///
    /// # Errors
    /// If it does not go on, or more must be asked: see [`Aside::enter`].
    #[expect(
        clippy::inline_always,
        reason = "behind a call, what it comes to is in memory, and is waited for there"
    )]
    #[inline(always)]
    pub fn go_straight(
        &self,
        peer: Option<&IpAddr>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Result<Permit, Aside<'_, T>> {
        let mut refused = None;
        if let (Self::Limits(gate, None), Some(peer)) = (self, peer)
            && !gate.may_present(fields)
        {
            match gate.decide_straight(Presented::Absent, peer, fields) {
                Some(decision) if decision.passes() => {
                    return Ok(Permit::new(UnderWay::new(Arc::clone(gate), None), decision));
                }
                decided => refused = decided,
            }
        }
        // Where the code of what most requests come to is in one piece, a processor that has done other things since the last
        // one has less of it to fetch; here and wherever else a path is called cold.
        cold_path();
        Err(Aside { checkpoint: self, refused })
    }

    /// The gate.
    pub fn gate(&self) -> &Arc<Gate> {
        match self {
            Self::Limits(gate, _) | Self::Guard(gate) => gate,
        }
    }
}

/// Shares the gate.
impl<T: ?Sized> Clone for Checkpoint<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Limits(gate, terms) => Self::Limits(Arc::clone(gate), terms.clone()),
            Self::Guard(gate) => Self::Guard(Arc::clone(gate)),
        }
    }
}

/// Without the function.
impl<T: ?Sized> fmt::Debug for Checkpoint<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Limits(..) => "Limits",
            Self::Guard(_) => "Guard",
        };
        f.debug_struct(name).field("gate", self.gate()).finish_non_exhaustive()
    }
}

/// A request that does not [go straight](Checkpoint::go_straight).
#[must_use = "a request that nobody asks about goes nowhere"]
pub struct Aside<'c, T: ?Sized> {
    checkpoint: &'c Checkpoint<T>,
    /// It is decided, and does not pass.
    refused: Option<Decision>,
}

impl<T: ?Sized> fmt::Debug for Aside<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aside").field("refused", &self.refused).finish_non_exhaustive()
    }
}

impl<T: ?Sized> Aside<'_, T> {
    /// Asks whether the request goes on. Behind a guard, `decided` is asked what its gate has decided already.
    ///
    /// `say` calls the function of the terms. `peer` and `fields` are those that it came with; `advice` tells the operator how a
    /// peer gets into a request in the adapter's framework.
    ///
    /// # Errors
    /// If the store of a [shared](crate::GateBuilder::shared) gate has to be asked first. The request is kept until it has
    /// answered, and [`Heard::finish`](crate::Heard::finish) then says what becomes of it.
    // Out of the way of those that go straight.
    #[inline(never)]
    pub fn enter<'d>(
        self,
        say: impl for<'g> FnOnce(&T, Terms<'g>) -> Terms<'g>,
        peer: Option<IpAddr>,
        decided: impl FnOnce() -> Option<&'d Decision>,
        fields: &(impl RequestFields + ?Sized),
        advice: &str,
    ) -> Result<Entry, Pending> {
        Ok(match (self.checkpoint, self.refused) {
            (Checkpoint::Guard(gate), _) => match gate.internal(decided(), fields) {
                Some(_) => Entry::Passes { decision: None, permit: None },
                None => Entry::Answered(gate.unauthorized().into()),
            },
            (Checkpoint::Limits(gate, _), Some(refused)) => Entry::of(gate, refused, None, fields),
            (Checkpoint::Limits(gate, said), None) => {
                let terms = said.as_ref().map_or(gate.terms(), |terms| say(terms, gate.terms()));
                match terms.begin(gate.verify(fields), peer, fields) {
                    Ok(Admission::Decided(decision, permit)) => {
                        if decision.lacks_peer() {
                            gate.tell_uncounted(advice);
                        }
                        Entry::of(gate, decision, permit, fields)
                    }
                    Ok(Admission::Pending(pending)) => return Err(pending),
                    Err(NoPeer) => Entry::Answered(gate.no_peer(advice).into()),
                }
            }
        })
    }
}

/// What becomes of a request at a [`Checkpoint`].
#[derive(Debug)]
#[must_use = "an entry that nobody heeds keeps nobody out"]
pub enum Entry {
    /// It goes on. The decision belongs into its extensions, for handlers; the permit is kept until the response is known.
    Passes {
        /// `None` behind a guard, which decides nothing.
        decision: Option<Decision>,
        /// `None` if the request was not counted.
        permit: Option<Permit>,
    },
    /// The gate answers in the application's place.
    Answered(Reply),
}

impl Entry {
    /// Of a request that was decided so.
    #[inline]
    pub(crate) fn of(
        gate: &Arc<Gate>,
        decision: Decision,
        permit: Option<Permit>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Self {
        match gate.reply(decision, fields) {
            Ok(reply) => Self::Answered(reply),
            Err(decision) => Self::Passes { decision: Some(decision), permit },
        }
    }
}
