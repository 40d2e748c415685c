use std::sync::atomic::{AtomicU8, Ordering};

/// What a gate does with its verdicts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Mode {
    /// Whoever is over the limit is refused.
    #[default]
    Enforce,
    /// Everything is counted, decided and told in the response's fields, and nobody is refused: to try a limit out.
    /// Not even where the caller's address is not known: such a request passes uncounted, and adapters log it.
    /// Responses carry no `Retry-After`, since nothing has to be tried again.
    Shadow,
    /// Nothing is counted. Credentials are still checked, so that internal routes stay closed.
    Off,
}

/// A mode that may change while requests are decided.
#[derive(Debug)]
pub(crate) struct ModeCell(AtomicU8);

impl ModeCell {
    pub(crate) const fn new(mode: Mode) -> Self {
        Self(AtomicU8::new(mode as u8))
    }

    #[inline]
    pub(crate) fn load(&self) -> Mode {
        // ORDERING: a request sees the one mode or the other; nothing else is published by it, here and below.
        match self.0.load(Ordering::Relaxed) {
            SHADOW => Mode::Shadow,
            OFF => Mode::Off,
            _ => Mode::Enforce,
        }
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.0.store(mode as u8, Ordering::Relaxed);
    }
}

const SHADOW: u8 = Mode::Shadow as u8;
const OFF: u8 = Mode::Off as u8;
