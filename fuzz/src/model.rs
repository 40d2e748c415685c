//! Each quota as `tollgate::Quota` documents it, in 128 bits and without rings: times are ticks since the clock's
//! zero.

use tollgate::Nanos;

use crate::input::{Kind, QuotaInput};

/// One quota's figures.
#[derive(Clone, Copy, Debug)]
pub enum Model {
    /// Window in ticks of 2^shift ns.
    Fixed {
        limit: u128,
        window: u128,
        shift: u32,
    },
    Sliding {
        limit: u128,
        window: u128,
        shift: u32,
    },
    /// Interval in ticks of 2^shift parts, 2⁴⁰ of which are a nanosecond.
    Gcra {
        burst: u128,
        interval: u128,
        shift: u32,
    },
}

/// What one caller has used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Fixed {
        start: u128,
        count: u128,
    },
    Sliding {
        number: u128,
        previous: u128,
        current: u128,
    },
    /// When all that was admitted would have arrived, had it come evenly.
    Gcra {
        arrival: u128,
    },
}

/// What a limiter answers, without the caller's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Admitted { remaining: u32, resets_in: u64 },
    Refused { retry_after: u64 },
}

const PARTS: u32 = 40;
/// How far clocks may disagree, in nanoseconds, without a write back.
const SKEW: u128 = 100_000_000;
/// Spans from here on, 292 years, are taken to be equal: they saturate.
pub const EVER: u64 = 1 << 63;

impl Model {
    /// The model of a quota that passes [`Quota::validate`].
    pub fn new(input: &QuotaInput) -> Self {
        let (limit, window) = (u128::from(input.limit()), u128::from(input.window()));
        let burst = u128::from(input.burst());
        let finest = |least: u128| (0..64).rev().find(|shift| window >> shift >= least).unwrap_or(0);
        match input.kind() {
            Kind::Fixed => {
                let shift = finest(2048);
                Self::Fixed { limit, window: window >> shift, shift }
            }
            Kind::Sliding => {
                let shift = finest(1 << 24);
                Self::Sliding { limit, window: window >> shift, shift }
            }
            Kind::Gcra | Kind::AtMost => {
                let rate = if input.kind() == Kind::Gcra { limit } else { limit - burst };
                let ticks = |shift: u32| (window << PARTS).div_ceil(rate << shift);
                let shift =
                    (0..=104).rev().find(|&shift| rate << shift >> shift == rate && ticks(shift) >= 1024);
                let shift = shift.unwrap_or(0);
                Self::Gcra { burst, interval: ticks(shift), shift }
            }
        }
    }

    /// Whether a limiter can hold to the quota: whether the time that its ring of 36 bits must tell apart fits.
    pub fn fits(input: &QuotaInput) -> bool {
        let (limit, window) = (u128::from(input.limit()), u128::from(input.window()));
        if limit == 0 || !(2048..=1 << 62).contains(&window) {
            return false;
        }
        let promise = input.kind() == Kind::AtMost;
        if input.kind() as u8 >= Kind::Gcra as u8
            && (input.burst() == 0 || promise && input.burst() >= input.limit())
        {
            return false;
        }
        let count_bits = u128::BITS - limit.leading_zeros();
        match Self::new(input) {
            Self::Fixed { window, .. } => 4 * window <= 1 << 36_u32.saturating_sub(count_bits),
            Self::Sliding { .. } => 2 * count_bits + 3 <= 36,
            Self::Gcra { burst, interval, .. } => 4 * burst * interval <= 1 << 36,
        }
    }

    pub fn fresh(&self, now: Nanos) -> State {
        let now = self.tick(now);
        match *self {
            Self::Fixed { .. } => State::Fixed { start: now, count: 0 },
            Self::Sliding { window, .. } => State::Sliding { number: now / window, previous: 0, current: 0 },
            Self::Gcra { .. } => State::Gcra { arrival: now },
        }
    }

    /// A fresh state one tick late, which a caller gets where its word is made over one of the same tick. (A fixed
    /// window's word is free no earlier than a window later, and a sliding window's state holds no tick.)
    pub fn fresh_late(&self, now: Nanos) -> State {
        match self.fresh(now) {
            State::Gcra { arrival } => State::Gcra { arrival: arrival + 1 },
            state => state,
        }
    }

    /// Brings a state that lies ahead of the clock, by more than is kept, to now.
    pub fn settle(&self, state: State, now: Nanos) -> State {
        let tick = self.tick(now);
        match (*self, state) {
            (Self::Fixed { limit, window, shift }, State::Fixed { start, count }) => {
                let ring = 1_u128 << (36 - (u128::BITS - limit.leading_zeros()));
                let kept = (window / 128).max((SKEW >> shift).min(ring / 64));
                if start > tick + kept { State::Fixed { start: tick, count } } else { state }
            }
            (Self::Sliding { window, .. }, State::Sliding { number, previous, current }) => {
                let here = tick / window;
                if number > here + 1 { State::Sliding { number: here, previous, current } } else { state }
            }
            (Self::Gcra { burst, interval, shift }, State::Gcra { arrival }) => {
                let (debt, full) = (arrival.saturating_sub(tick), burst * interval);
                let kept = (full / 2).max((SKEW << PARTS >> shift).min(1 << 33));
                if debt > full + interval / 256 + kept { State::Gcra { arrival: tick + full } } else { state }
            }
            _ => unreachable!("a state of another quota"),
        }
    }

    /// Charges `cost`, if that passes.
    pub fn check(&self, state: State, now: Nanos, cost: u32) -> (Answer, State) {
        let (tick, cost) = (self.tick(now), u128::from(cost));
        let state = self.settle(state, now);
        match (*self, state) {
            (Self::Fixed { limit, window, .. }, State::Fixed { start, count }) => {
                let (start, count) = if tick >= start + window { (tick, 0) } else { (start, count) };
                let ends_in = self.until(start + window, now);
                if count + cost <= limit {
                    let count = count + cost;
                    (admitted(limit - count, ends_in), State::Fixed { start, count })
                } else {
                    (Answer::Refused { retry_after: ends_in }, state)
                }
            }
            (Self::Sliding { limit, window, .. }, State::Sliding { number, previous, current }) => {
                // A state of the next window is looked at as at that window's begin.
                let tick = tick.max(number * window);
                let (here, elapsed) = (tick / window, tick % window);
                let (previous, current) = match here - number {
                    0 => (previous, current),
                    1 => (current, 0),
                    _ => (0, 0),
                };
                // A part of a request does not count.
                let in_sight = |previous: u128, elapsed: u128| previous * (window - elapsed) / window;
                let used = in_sight(previous, elapsed) + current + cost;
                if used <= limit {
                    let current = current + cost;
                    let end = here + if current > 0 { 2 } else { 1 };
                    let answer = admitted(limit - used, self.until(end * window, now));
                    return (answer, State::Sliding { number: here, previous, current });
                }
                // The first tick at which it passes, by bisection: use only falls.
                let passes = |then: u128| {
                    let (previous, current) =
                        if then / window > here { (current, 0) } else { (previous, current) };
                    in_sight(previous, then % window) + current + cost <= limit
                };
                let (mut before, mut then) = (tick, (here + 2) * window);
                while then - before > 1 {
                    let middle = before.midpoint(then);
                    if middle < (here + 2) * window && !passes(middle) {
                        before = middle
                    } else {
                        then = middle
                    }
                }
                (Answer::Refused { retry_after: self.until(then, now) }, state)
            }
            (Self::Gcra { burst, interval, .. }, State::Gcra { arrival }) => {
                let most = burst * interval + interval / 256;
                let charged = arrival.max(tick) - tick + cost * interval;
                if charged <= most {
                    let arrival = tick + charged;
                    (admitted((most - charged) / interval, self.until(arrival, now)), State::Gcra { arrival })
                } else {
                    (Answer::Refused { retry_after: self.until(tick + charged - most, now) }, state)
                }
            }
            _ => unreachable!("a state of another quota"),
        }
    }

    /// Whether the state is as good as none: strangers may use its word.
    pub fn is_over(&self, state: State, now: Nanos) -> bool {
        let tick = self.tick(now);
        match (*self, state) {
            (Self::Fixed { window, .. }, State::Fixed { start, .. }) => tick >= start + window,
            (Self::Sliding { window, .. }, State::Sliding { number, current, .. }) => {
                tick / window >= number + 2 || tick / window == number + 1 && current == 0
            }
            (_, State::Gcra { arrival }) => arrival <= tick,
            _ => unreachable!("a state of another quota"),
        }
    }

    /// Gives back what was charged when `charged` was left behind, if it still counts.
    pub fn refund(&self, state: State, charged: State, now: Nanos, cost: u32) -> Option<State> {
        let (tick, cost) = (self.tick(now), u128::from(cost));
        match (*self, state, charged) {
            (Self::Fixed { .. }, State::Fixed { start, count }, State::Fixed { start: then, .. }) => {
                let counts = start == then && !self.is_over(state, now);
                counts.then(|| State::Fixed { start, count: count.saturating_sub(cost) })
            }
            (
                Self::Sliding { window, .. },
                State::Sliding { number, previous, current },
                State::Sliding { number: then, .. },
            ) => match (tick / window + 1).checked_sub(then) {
                Some(0..=2) if number == then => {
                    Some(State::Sliding { number, previous, current: current.saturating_sub(cost) })
                }
                Some(0..=2) if number == then + 1 => {
                    Some(State::Sliding { number, previous: previous.saturating_sub(cost), current })
                }
                _ => None,
            },
            (Self::Gcra { interval, .. }, State::Gcra { arrival }, State::Gcra { arrival: then }) => {
                // What time has paid of the charge is not given back.
                let back = (cost * interval).min(then.saturating_sub(tick));
                let debt = arrival.saturating_sub(tick).saturating_sub(back);
                (then > tick).then_some(State::Gcra { arrival: tick + debt })
            }
            _ => unreachable!("a state of another quota"),
        }
    }

    pub fn cleared(&self, state: State, now: Nanos) -> State {
        match state {
            State::Fixed { start, .. } => State::Fixed { start, count: 0 },
            State::Sliding { number, .. } => State::Sliding { number, previous: 0, current: 0 },
            State::Gcra { arrival } => State::Gcra { arrival: arrival.min(self.tick(now)) },
        }
    }

    /// The most that any interval admits, and how long that interval is, in nanoseconds.
    pub fn bound(input: &QuotaInput, enforced: Nanos) -> (u64, u64) {
        let limit = u64::from(input.limit());
        match input.kind() {
            Kind::Fixed => (2 * limit, enforced.0),
            Kind::Sliding => (2 * limit, enforced.0),
            Kind::Gcra => (limit + u64::from(input.burst()), input.window()),
            Kind::AtMost => (limit, input.window()),
        }
    }

    fn tick(&self, now: Nanos) -> u128 {
        match *self {
            Self::Fixed { shift, .. } | Self::Sliding { shift, .. } => u128::from(now.0) >> shift,
            Self::Gcra { shift, .. } => u128::from(now.0) << PARTS >> shift,
        }
    }

    /// Nanoseconds until a tick begins, rounded up.
    fn until(&self, tick: u128, now: Nanos) -> u64 {
        let then = match *self {
            Self::Fixed { shift, .. } | Self::Sliding { shift, .. } => tick << shift,
            Self::Gcra { shift, .. } => (tick << shift).div_ceil(1 << PARTS),
        };
        u64::try_from(then.saturating_sub(now.0.into())).unwrap_or(EVER).min(EVER)
    }
}

fn admitted(remaining: u128, resets_in: u64) -> Answer {
    Answer::Admitted { remaining: remaining as u32, resets_in }
}
