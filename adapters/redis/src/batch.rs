use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis::RedisResult;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tollgate::Nanos;

use crate::question::{Answer, Question};
use crate::store::Inner;

/// Questions about different callers that wait for a round trip to go with.
///
/// One that comes while few are under way goes at once, so a quiet node waits for nothing. The others go together with the
/// next, so a busy node asks about many callers in one script call.
#[derive(Default)]
pub(crate) struct Batch(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    questions: Vec<Asked>,
    under_way: usize,
}

/// A question, and who waits for its answer.
type Asked = (Question, oneshot::Sender<Answer>);

/// So many round trips are under way at once: while the server works on one, the other is on the network.
const UNDER_WAY: usize = 2;
/// The most that go together, which the server does in less than a millisecond.
const TOGETHER: usize = 64;

/// A place among those under way, given back also by a panic.
struct Place<'b>(&'b Batch);

impl Batch {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // A list is whole between its operations, and nothing else happens under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next that go together; the place is given up where there are none, in the same step, so that whoever comes then
    /// takes it.
    fn next<'b>(&'b self, place: Place<'b>) -> Option<(Vec<Asked>, Place<'b>)> {
        let mut waiting = self.waiting();
        if waiting.questions.is_empty() {
            waiting.under_way -= 1;
            std::mem::forget(place);
            return None;
        }
        let most = waiting.questions.len().min(TOGETHER);
        let next = waiting.questions.drain(..most).collect();
        Some((next, place))
    }
}

fn tell(answer: RedisResult<Answer>, questions: &[Question], senders: Vec<oneshot::Sender<Answer>>) {
    let Ok(answer) = answer else { return };
    for ((sender, charge), question) in senders.into_iter().zip(answer.charges).zip(questions) {
        let admitted = charge.charge >= question.cost;
        // Whoever asked may be gone; then nobody keeps what was charged.
        drop(sender.send(Answer { admitted, now: answer.now, charges: vec![charge] }));
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.waiting().under_way -= 1;
    }
}

impl Inner {
    /// Asks together with others; `None` if there is no answer.
    pub(crate) async fn ask_with_others(self: &Arc<Self>, question: Question) -> Option<Answer> {
        let (sender, answer) = oneshot::channel();
        self.batch.waiting().questions.push((question, sender));
        self.set_off();
        answer.await.ok()
    }

    /// Begins a round trip, if questions wait and few are under way.
    fn set_off(self: &Arc<Self>) {
        let goes = {
            let mut waiting = self.batch.waiting();
            let goes = waiting.under_way < UNDER_WAY && !waiting.questions.is_empty();
            waiting.under_way += usize::from(goes);
            goes
        };
        if goes {
            let inner = self.clone();
            self.runtime.spawn(async move { inner.go().await });
        }
    }

    /// Takes what waits to the server, until nothing does.
    async fn go(self: &Arc<Self>) {
        let mut place = Place(&self.batch);
        while let Some((asked, still)) = self.batch.next(place) {
            place = still;
            let (questions, senders): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
            // The time is the server's or the system's: where it is the caller's, nobody asks with others.
            let mut decided = pin!(self.link.decide(&questions, false, Nanos::ZERO, &self.tallies));
            if let Ok(answer) = timeout(self.link.wait, &mut decided).await {
                tell(answer, &questions, senders);
            } else {
                // Others need not wait for a connection that may be dead.
                drop(place);
                self.set_off();
                tell(decided.await, &questions, senders);
                return;
            }
        }
    }
}
