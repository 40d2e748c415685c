use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tracing::subscriber::{DefaultGuard, set_default, set_global_default};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::MutexGuardWriter;

/// What is logged, for a test to read.
#[derive(Debug)]
pub struct Log {
    text: Text,
    _listening: Option<DefaultGuard>,
}

impl Log {
    /// What this thread logs from now on, until the log is dropped.
    pub fn of_this_thread() -> Self {
        let text = Text::default();
        let listening =
            set_default(tracing_subscriber::fmt().with_writer(text.clone()).with_ansi(false).finish());
        Self { text, _listening: Some(listening) }
    }

    /// What all threads log from the first call on. The tests of a program share it, so each has to look for what no other
    /// logs. Where the program has a log of its own for all threads, nothing is read here.
    pub fn of_all_threads() -> &'static Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        LOG.get_or_init(|| {
            let text = Text::default();
            let _ = set_global_default(
                tracing_subscriber::fmt().with_writer(text.clone()).with_ansi(false).finish(),
            );
            Self { text, _listening: None }
        })
    }

    /// All that was logged, a line for each event.
    pub fn read(&self) -> String {
        String::from_utf8_lossy(&self.text.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

#[derive(Clone, Debug, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl<'t> MakeWriter<'t> for Text {
    type Writer = MutexGuardWriter<'t, Vec<u8>>;

    fn make_writer(&'t self) -> Self::Writer {
        self.0.make_writer()
    }
}
