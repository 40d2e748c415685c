use std::sync::Arc;

use crate::checkpoint::Entry;
use crate::future::ResponseFuture;
use crate::gate::Gate;
use crate::pending::{Heard, Pending};

/// What is kept of a request `Q` that waits for a store: itself, and a pointer to the service that it goes on to.
pub struct Onward<P, Q, F: Future, R> {
    service: P,
    request: Q,
    finish: fn(&Q, Heard) -> (Arc<Gate>, Entry),
    go_on: GoOn<P, Q, F, R>,
}

type GoOn<P, Q, F, R> = fn(&P, Q, &Gate, Entry) -> Responding<P, Q, F, R>;

/// The response to a request that came to a [`Checkpoint`](crate::Checkpoint) and may have to wait.
pub type Responding<P, Q, F, R> = ResponseFuture<F, R, Onward<P, Q, F, R>>;

impl<P: Clone, Q, F: Future, R> Responding<P, Q, F, R> {
    /// Goes on with a request: at once, or when the store has answered. What becomes of it then, the adapter's function
    /// `finish` asks, and does in `go_on`.
    pub fn onward(
        entry: Result<Entry, Pending>,
        gate: &Gate,
        service: &P,
        request: Q,
        finish: fn(&Q, Heard) -> (Arc<Gate>, Entry),
        go_on: fn(&P, Q, &Gate, Entry) -> Self,
    ) -> Self {
        match entry {
            Ok(entry) => go_on(service, request, gate, entry),
            Err(pending) => {
                let onward = Onward { service: service.clone(), request, finish, go_on };
                Self::waiting(pending, onward, |Onward { service, request, finish, go_on }, heard| {
                    let (gate, entry) = finish(&request, heard);
                    go_on(&service, request, &gate, entry)
                })
            }
        }
    }
}
