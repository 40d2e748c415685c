use arbitrary::Arbitrary;
use tollgate::{BoxedLimiter, Nanos, Quota};

/// A quota as bytes describe it: figures of every order of magnitude are as likely.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct QuotaInput {
    kind: Kind,
    limit: Figure,
    window: Figure,
    burst: Figure,
}

#[derive(Arbitrary, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Fixed,
    Sliding,
    Gcra,
    AtMost,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Figure {
    /// Seven in eight figures that people write are small.
    Small(u8),
    /// A number of so many bits.
    Bits(u8, u64),
    /// A power of two or a number beside it.
    Edge(u8, i8),
    /// A second, a minute, an hour, a day.
    Usual(u8),
}

impl Figure {
    fn up_to(self, bits: u32) -> u64 {
        let bits_of = |wanted: u8| u32::from(wanted) % bits + 1;
        let most = u64::MAX >> (64 - bits);
        let figure = match self {
            Self::Small(small) => small.into(),
            Self::Bits(wanted, any) => any >> (64 - bits_of(wanted)),
            Self::Edge(wanted, by) => (1_u64 << (bits_of(wanted) - 1)).saturating_add_signed((by % 3).into()),
            Self::Usual(which) => [1, 60, 3600, 86_400][usize::from(which % 4)] * 1_000_000_000,
        };
        figure.min(most)
    }
}

impl QuotaInput {
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn limit(&self) -> u32 {
        // As many as 32 bits hold, so it is never cut.
        self.limit.up_to(32) as u32
    }

    pub fn window(&self) -> u64 {
        self.window.up_to(64)
    }

    pub fn burst(&self) -> u32 {
        self.burst.up_to(32) as u32
    }

    /// The same quota with another limit or, where the burst is what counts at once, another burst.
    pub fn quota_with(&self, figure: u32) -> Quota {
        let window = Nanos(self.window());
        match self.kind {
            Kind::Fixed => Quota::new(figure, window),
            Kind::Sliding => Quota::new(figure, window).sliding(),
            Kind::Gcra => Quota::new(self.limit(), window).burst(figure),
            Kind::AtMost => Quota::at_most(self.limit()).in_any(window).burst(figure),
        }
    }

    pub fn quota(&self) -> Quota {
        self.quota_with(match self.kind {
            Kind::Fixed | Kind::Sliding => self.limit(),
            Kind::Gcra | Kind::AtMost => self.burst(),
        })
    }
}

/// How the clock goes on before an operation.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Step {
    Stay,
    Nanos(u16),
    /// In 1/256 of the span in which the quota lets everything pass once.
    Window(u16),
    /// In 1/256 of the span in which it lets one request pass.
    Interval(u16),
    Back(u16),
}

/// A clock whose steps are never so long that a sweep could come too late, which the limiter asks for.
pub struct Clock {
    window: u64,
    interval: u64,
    longest: u64,
    now: u64,
    swept: u64,
}

impl Clock {
    pub fn new(limiter: &BoxedLimiter, start: u64) -> Self {
        let window = limiter.enforced_window().0;
        let interval = (window / u64::from(limiter.limit())).max(1);
        let longest = limiter.sweep_interval().0 / 4;
        Self { window, interval, longest, now: start, swept: start }
    }

    pub fn now(&self) -> Nanos {
        Nanos(self.now)
    }

    /// Takes a step; whether a sweep is due.
    pub fn step(&mut self, step: Step) -> bool {
        let of = |span: u64, parts: u16| u128::from(span) * u128::from(parts) / 256;
        let by = match step {
            Step::Stay => 0,
            Step::Nanos(nanos) => nanos.into(),
            Step::Window(parts) | Step::Back(parts) => of(self.window, parts),
            Step::Interval(parts) => of(self.interval, parts),
        };
        let by = u64::try_from(by).unwrap_or(u64::MAX).min(self.longest);
        self.now = match step {
            Step::Back(_) => self.now.saturating_sub(by),
            _ => self.now.saturating_add(by),
        };
        let due = self.now.abs_diff(self.swept) > self.longest;
        if due {
            self.swept = self.now;
        }
        due
    }
}
