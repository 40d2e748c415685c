//! A case's failure, as a sentence.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Once;
use std::task::Poll;
use std::thread;

thread_local! {
    static CATCHES: Cell<bool> = const { Cell::new(false) };
    static FAILURE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The name of the threads that cases are played in.
pub(crate) const THREADS: &str = "conformance";

/// What a case fails with, if it fails. Panics in other threads are told as ever.
pub(crate) async fn caught(case: impl Future<Output = ()>) -> Result<(), String> {
    listen();
    let mut case = pin!(case);
    poll_fn(|cx| {
        CATCHES.set(true);
        let polled = panic::catch_unwind(AssertUnwindSafe(|| case.as_mut().poll(cx)));
        CATCHES.set(false);
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(FAILURE.take().unwrap_or_default())),
        }
    })
    .await
}

/// Keeps what a panic says where a case is polled.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let is_ours = thread::current().name() == Some(THREADS);
            if !is_ours {
                return others(info);
            }
            let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
            let message = info.payload_as_str().unwrap_or("it panicked");
            let failure = format!("{message} ({})", place.unwrap_or_default());
            if CATCHES.get() {
                FAILURE.set(Some(failure));
            } else {
                // A task of a case's, whose failure the case finds, or a server's.
                println!("panicked: {failure}");
            }
        }));
    });
}
