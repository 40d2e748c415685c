//! What one gate contributes to a number that several of a process share.

use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{Counter, Gauge};

/// A gate's part of a gauge, which is taken back with the gate.
pub(crate) struct GaugePart {
    gauge: Gauge,
    last: AtomicU64,
}

impl GaugePart {
    pub(crate) const fn new(gauge: Gauge) -> Self {
        Self { gauge, last: AtomicU64::new(0) }
    }

    pub(crate) fn set(&self, value: u64) {
        // ORDERING: relaxed: whoever swaps adds the difference to what it found, in whatever order threads come here.
        let before = self.last.swap(value, Ordering::Relaxed);
        if value >= before {
            self.gauge.increment(float(value - before));
        } else {
            self.gauge.decrement(float(before - value));
        }
    }
}

impl Drop for GaugePart {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// A gate's part of a counter whose total the gate knows.
pub(crate) struct CounterPart {
    counter: Counter,
    last: AtomicU64,
}

impl CounterPart {
    pub(crate) const fn new(counter: Counter) -> Self {
        Self { counter, last: AtomicU64::new(0) }
    }

    pub(crate) fn reach(&self, total: u64) {
        // ORDERING: as above.
        let before = self.last.fetch_max(total, Ordering::Relaxed);
        self.counter.increment(total.saturating_sub(before));
    }
}

#[expect(clippy::cast_precision_loss, reason = "slots and refusals are fewer than 2⁵²")]
fn float(number: u64) -> f64 {
    number as f64
}
