use serde::Serialize;

/// How many callers did how much at most in one window, by powers of two.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Peaks {
    /// The first bar is of callers with a peak of 1, the next of 2, then 3 to 4, 5 to 8, and so on.
    pub bars: Vec<Bar>,
}

/// Callers of like peaks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Bar {
    /// The largest peak of this bar.
    pub up_to: u32,
    /// Callers.
    pub callers: u64,
    /// Those of them that were refused something.
    pub refused: u64,
}

impl Peaks {
    /// Peaks of callers, each with whether it was refused something. Callers without a peak are passed over.
    pub fn new(callers: impl IntoIterator<Item = (u32, bool)>) -> Self {
        let mut bars: Vec<Bar> = Vec::new();
        for (peak, refused) in callers {
            let Some(below) = peak.checked_sub(1) else { continue };
            let index = (u32::BITS - below.leading_zeros()) as usize;
            while bars.len() <= index {
                let up_to =
                    1_u32.checked_shl(u32::try_from(bars.len()).unwrap_or(u32::MAX)).unwrap_or(u32::MAX);
                bars.push(Bar { up_to, ..Bar::default() });
            }
            bars[index].callers += 1;
            bars[index].refused += u64::from(refused);
        }
        Self { bars }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn each_peak_is_in_the_first_bar_that_reaches_it(
            callers in proptest::collection::vec((prop_oneof![0..70_u32, any::<u32>()], any::<bool>()), 0..50),
        ) {
            let peaks = Peaks::new(callers.clone());
            let mut below = 0;
            for bar in &peaks.bars {
                let of_it = callers.iter().filter(|(peak, _)| below < *peak && *peak <= bar.up_to);
                prop_assert_eq!(bar.callers, of_it.clone().count() as u64);
                prop_assert_eq!(bar.refused, of_it.filter(|(_, refused)| *refused).count() as u64);
                below = bar.up_to;
            }
            prop_assert!(callers.iter().all(|(peak, _)| *peak <= below));
        }
    }
}
