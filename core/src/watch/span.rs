use super::head::Head;
use crate::time::Nanos;

/// How long nothing of a caller must be refused until it has recovered, in coarse ticks.
#[derive(Clone, Copy)]
pub(super) struct Span {
    quiet: Nanos,
    /// A tick has 2 to this many nanoseconds.
    shift: u32,
    /// Ticks of the span, rounded up: 8 to 16 of a ring of 256.
    ticks: u8,
}

impl Span {
    pub(super) const fn new(quiet: Nanos) -> Self {
        // The highest bit is the fourth above a tick's.
        let shift = (quiet.0 | 1).ilog2().saturating_sub(3);
        let ticks = quiet.0.div_ceil(1 << shift);
        Self { quiet, shift, ticks: ticks.to_le_bytes()[0] }
    }

    /// The tick of a moment, on the ring.
    pub(super) const fn tick(self, now: Nanos) -> u8 {
        (now.0 >> self.shift).to_le_bytes()[0]
    }

    /// Whether a caller's spell is over at a tick. One that lies ahead of the clock by less than the span is not over,
    /// since clocks of threads disagree; one that lies further ahead is, so that a clock set back locks no place.
    pub(super) const fn is_over(self, head: Head, tick: u8) -> bool {
        let age = tick.wrapping_sub(head.tick());
        age > self.ticks && age < self.ticks.wrapping_neg()
    }

    /// The same where the last time is known, so that it doesn't matter whether the ring has come round since.
    pub(super) const fn is_over_at(self, head: Head, last: Nanos, now: Nanos) -> bool {
        let long = self.quiet.0.saturating_mul(2).saturating_add(COARSE);
        self.is_over(head, self.tick(now)) || now.saturating_sub(last).0 > long
    }
}

/// More than the last time is rounded by.
const COARSE: u64 = 1 << 25;

#[cfg(test)]
mod tests {
    use super::super::head::Tag;
    use super::*;
    use crate::key::Key;
    use proptest::prelude::*;

    proptest! {
        // The oracle is the time itself, in 128 bits.
        #[test]
        fn over_after_the_span_and_at_most_a_quarter_more(quiet in 8..u64::MAX / 8, seen in 0..u64::MAX / 2, after: u64) {
            let (span, after) = (Span::new(Nanos(quiet)), after % (quiet * 4));
            let head = Head::entered(Tag::of(Key::from_fingerprint(0)), span.tick(Nanos(seen)), true, 1);
            prop_assume!(seen.checked_add(after).is_some());
            let is_over = span.is_over(head, span.tick(Nanos(seen + after)));
            let (quiet, after) = (u128::from(quiet), u128::from(after));
            prop_assert!(!is_over || after > quiet, "over after {after} of {quiet}");
            prop_assert!(is_over || 4 * after < 5 * quiet + 8, "not over after {after} of {quiet}");
        }
    }

    #[test]
    fn a_clock_set_back_locks_no_place() {
        let span = Span::new(Nanos::from_secs(60));
        let at = |secs| span.tick(Nanos::from_secs(secs));
        let head = Head::entered(Tag::of(Key::from_fingerprint(0)), at(1_000), true, 1);
        assert!(!span.is_over(head, at(999)) && !span.is_over(head, at(945)));
        assert!(span.is_over(head, at(900)) && span.is_over(head, at(500)));
        for quiet in [0, 1, 7, u64::MAX] {
            let span = Span::new(Nanos(quiet));
            assert!(!span.is_over(head, head.tick()) && span.ticks <= 16);
        }
    }
}
