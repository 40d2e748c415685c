//! A simulated radio link: who sends the next frame.

use tollgate::Nanos;

/// Peers that send a frame now and then.
pub(crate) const QUIET: usize = 240;
/// Peers that send whenever the link is free.
pub(crate) const LOUD: usize = 4;
pub(crate) const PEERS: usize = QUIET + LOUD;

/// The quiet peers take turns, a frame a millisecond, so each sends four in a second.
const BETWEEN_QUIET_FRAMES: Nanos = Nanos::from_millis(1);

/// The link.
#[derive(Debug)]
pub(crate) struct Air {
    next_quiet: usize,
    next_loud: usize,
    quiet_is_due: Nanos,
}

impl Air {
    pub(crate) const fn new() -> Self {
        Self { next_quiet: 0, next_loud: 0, quiet_is_due: Nanos::ZERO }
    }

    /// The peer that sends the next frame.
    pub(crate) fn sender(&mut self, now: Nanos) -> usize {
        if now >= self.quiet_is_due {
            self.quiet_is_due = self.quiet_is_due.saturating_add(BETWEEN_QUIET_FRAMES);
            self.next_quiet = (self.next_quiet + 1) % QUIET;
            self.next_quiet
        } else {
            self.next_loud = (self.next_loud + 1) % LOUD;
            QUIET + self.next_loud
        }
    }
}

/// A peer's address on the link, six bytes as in Bluetooth.
pub(crate) fn address(peer: usize) -> [u8; 6] {
    let [low, high, ..] = peer.to_le_bytes();
    [0xc0, 0x11, 0x22, 0x33, high, low]
}
