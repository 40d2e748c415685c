//! What is logged, for a test to read.

use std::sync::{Arc, Mutex};

use tracing::subscriber::{DefaultGuard, set_default};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::MutexGuardWriter;

/// What this thread logs, until it is dropped.
pub(crate) struct Log {
    text: Text,
    _listening: DefaultGuard,
}

impl Log {
    pub(crate) fn begin() -> Self {
        let text = Text::default();
        let subscriber = tracing_subscriber::fmt().with_writer(text.clone()).with_ansi(false).finish();
        Self { text, _listening: set_default(subscriber) }
    }

    /// The lines since the last look.
    pub(crate) fn take(&self) -> Vec<String> {
        let text = std::mem::take(&mut *self.text.0.lock().unwrap());
        String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
    }
}

#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl<'t> MakeWriter<'t> for Text {
    type Writer = MutexGuardWriter<'t, Vec<u8>>;

    fn make_writer(&'t self) -> Self::Writer {
        self.0.make_writer()
    }
}
