use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use crate::answer::{Answer, bytes};
use crate::decision::Decision;
use crate::gate::Gate;
use crate::name::Types;

/// What a gate answers in the application's place, before it is written into a response.
#[derive(Debug)]
#[must_use = "a reply that is not sent leaves the request to the application"]
pub struct Reply(Kind);

#[derive(Debug)]
enum Kind {
    /// With a refusal's decision.
    Made(Answer, Option<Decision>),
    /// A refusal in the gate's own words, which are found where they are written: a request that is refused is to cost little.
    Refused { gate: Arc<Gate>, decision: Decision, is_grpc: bool },
}

/// The rest of a reply, whose fields are written.
#[derive(Debug)]
#[must_use = "fields without their status and body are no response"]
pub struct Written {
    /// The status code.
    pub status: u16,
    /// The body, to be sent with any method but HEAD.
    pub body: Bytes,
    /// A refusal's, which belongs into the response's extensions: whoever is further outside learns of it.
    pub decision: Option<Decision>,
}

impl Reply {
    /// To a request that this gate has refused; `answer` is what its responder says.
    pub(crate) fn refusal(
        gate: &Arc<Gate>,
        answer: Option<Answer>,
        decision: Decision,
        is_grpc: bool,
    ) -> Self {
        Self(match answer {
            Some(answer) => Kind::Made(answer, Some(decision)),
            None => Kind::Refused { gate: Arc::clone(gate), decision, is_grpc },
        })
    }

    /// The decision that is answered so, if it is a refusal.
    pub fn decision(&self) -> Option<&Decision> {
        match &self.0 {
            Kind::Made(_, decision) => decision.as_ref(),
            Kind::Refused { decision, .. } => Some(decision),
        }
    }

    /// So many fields and the body's length fit where there is room for so many.
    #[cfg(feature = "http-1")]
    pub(crate) fn most_fields(&self) -> usize {
        match &self.0 {
            Kind::Made(answer, _) => answer.most_fields(),
            Kind::Refused { gate, is_grpc, .. } => {
                let own = if *is_grpc { 5 } else { 3 };
                1 + own + gate.styles.fields()
            }
        }
    }

    /// Gives each line of a field to `add`, for a response that has none yet; what else there is. No name comes twice unless its
    /// field may have several lines. Names and values that can't be sent, as those of a responder's may not, are left out.
    pub fn write<T>(self, add: impl FnMut(T::Name, T::Value)) -> Written
    where
        T: Types<Name: for<'a> TryFrom<&'a [u8]>>,
    {
        match self.0 {
            Kind::Made(answer, decision) => Written { decision, ..answer.write::<T>(add) },
            Kind::Refused { gate, decision, is_grpc } => {
                let written = gate.tell_refusal::<T>(&decision, is_grpc, add);
                debug_assert!(written.is_some(), "the gate has refused this request");
                let (status, body) = written.unwrap_or((429, Cow::Borrowed("")));
                Written { status, body: bytes(body), decision: Some(decision) }
            }
        }
    }
}

/// To a request that no policy has seen.
impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self(Kind::Made(answer, None))
    }
}
