//! A slow and obvious limiter for the peers of the link, to compare with: a table of windows' starts and counts.

use tollgate::Nanos;

use crate::air::PEERS;

/// What a limiter says to one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Admitted { remaining: u32, resets_in: Nanos },
    Refused { retry_after: Nanos },
}

/// Fixed windows as `tollgate` documents them: a tick is the largest power of two that divides the window into 2,048
/// parts or more, and a window is a whole number of ticks and begins with one.
pub(crate) struct Oracle {
    limit: u8,
    tick: u64,
    window: u64,
    starts: [u64; PEERS],
    counts: [u8; PEERS],
}

impl Oracle {
    pub(crate) const fn new(limit: u8, window: Nanos) -> Self {
        let mut tick = 1;
        while window.0 / (tick * 2) >= 2048 {
            tick *= 2;
        }
        Self { limit, tick, window: window.0 / tick * tick, starts: [0; PEERS], counts: [0; PEERS] }
    }

    pub(crate) fn check(&mut self, peer: usize, now: Nanos) -> Answer {
        let (start, count) = (&mut self.starts[peer], &mut self.counts[peer]);
        // A count of zero is a peer that was never seen.
        if *count == 0 || now.0 >= *start + self.window {
            (*start, *count) = (now.0 / self.tick * self.tick, 0);
        }
        let ends_in = Nanos(*start + self.window - now.0);
        if *count < self.limit {
            *count += 1;
            Answer::Admitted { remaining: u32::from(self.limit - *count), resets_in: ends_in }
        } else {
            Answer::Refused { retry_after: ends_in }
        }
    }

    /// How long a peer has to wait from now on, if it is at its limit.
    pub(crate) fn waits(&self, peer: usize, now: Nanos) -> Option<Nanos> {
        let end = self.starts[peer] + self.window;
        (self.counts[peer] == self.limit && end > now.0).then(|| Nanos(end - now.0))
    }
}
