//! What tollgate logs while the suite runs.

use std::io;
use std::sync::{Mutex, Once, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Keeps everything that is logged from now on.
pub(crate) fn begin() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt().with_writer(Log).with_ansi(false).finish();
        // Where a program has a log of its own, nothing is read here and the case that reads it fails.
        let _ = tracing::subscriber::set_global_default(subscriber);
    });
}

pub(crate) fn read() -> String {
    String::from_utf8_lossy(&LOG.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

struct Log;

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}
