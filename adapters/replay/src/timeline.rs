use tollgate::Nanos;

/// Requests and refusals over time, in at most [`MOST_SPANS`] spans: when there would be more, each becomes twice as long.
#[derive(Clone, Debug)]
pub struct Timeline {
    begin: u64,
    /// Each span's length in seconds.
    width: u64,
    policies: usize,
    /// Of each span first the requests, then those that each policy refused.
    counts: Vec<u64>,
}

impl Timeline {
    /// Nothing yet, for so many policies.
    pub const fn new(policies: usize) -> Self {
        Self { begin: 0, width: 1, policies, counts: Vec::new() }
    }

    /// Counts a request. Times do not run backwards.
    ///
    /// The place is for [`refuse`](Self::refuse), and good until the next request.
    pub(crate) fn request(&mut self, time: Nanos) -> Place {
        let second = time.0 / 1_000_000_000;
        if self.counts.is_empty() {
            self.begin = second;
        }
        let since = second.saturating_sub(self.begin);
        while since / self.width >= MOST_SPANS {
            self.widen();
        }
        let stride = self.policies + 1;
        let at = usize::try_from(since / self.width).unwrap_or_default() * stride;
        if self.counts.len() < at + stride {
            self.counts.resize(at + stride, 0);
        }
        self.counts[at] += 1;
        Place(at)
    }

    pub(crate) fn refuse(&mut self, place: Place, policy: usize) {
        self.counts[place.0 + 1 + policy] += 1;
    }

    fn widen(&mut self) {
        let stride = self.policies + 1;
        let spans = self.counts.len() / stride;
        for span in 0..spans.div_ceil(2) {
            for at in 0..stride {
                let second = if 2 * span + 1 < spans { self.counts[(2 * span + 1) * stride + at] } else { 0 };
                self.counts[span * stride + at] = self.counts[2 * span * stride + at] + second;
            }
        }
        self.counts.truncate(spans.div_ceil(2) * stride);
        self.width *= 2;
    }

    /// When the first span begins, in seconds since 1970.
    pub const fn begin(&self) -> u64 {
        self.begin
    }

    /// How long each span is, in seconds.
    pub const fn width(&self) -> u64 {
        self.width
    }

    /// The requests of each span.
    pub fn requests(&self) -> Vec<u64> {
        self.column(0)
    }

    /// Those that a policy refused, of each span.
    pub fn refused(&self, policy: usize) -> Vec<u64> {
        self.column(1 + policy)
    }

    fn column(&self, at: usize) -> Vec<u64> {
        self.counts.chunks_exact(self.policies + 1).filter_map(|span| span.get(at)).copied().collect()
    }
}

/// Where a request was counted.
#[derive(Clone, Copy)]
pub(crate) struct Place(usize);

/// The most spans; as many as a chart shows.
pub const MOST_SPANS: u64 = 240;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn spans_are_what_counting_afresh_gives(steps in vec((0..90_u64, any::<bool>()), 1..600)) {
            let mut timeline = Timeline::new(2);
            let mut second = 1_431_857_103;
            let mut all = Vec::new();
            for (step, refused) in steps {
                second += step;
                let place = timeline.request(Nanos::from_secs(second));
                if refused {
                    timeline.refuse(place, 1);
                }
                all.push((second, refused));
            }
            let (begin, width) = (timeline.begin(), timeline.width());
            prop_assert_eq!(begin, all[0].0);
            prop_assert!(width == 1 || (second - begin) / (width / 2) >= MOST_SPANS);
            let expected = |only_refused: bool| -> Vec<u64> {
                (0..=(second - begin) / width)
                    .map(|span| {
                        let is_in = |(at, refused): &&(u64, bool)| {
                            (at - begin) / width == span && (!only_refused || *refused)
                        };
                        all.iter().filter(is_in).count() as u64
                    })
                    .collect()
            };
            prop_assert_eq!(timeline.requests(), expected(false));
            prop_assert_eq!(timeline.refused(1), expected(true));
            prop_assert!(timeline.refused(0).iter().all(|refused| *refused == 0));
        }
    }
}
