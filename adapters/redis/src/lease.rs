use tollgate::Note;

/// What a node remembers of a caller: a note's number, `[ growth 4 bits | value 12 bits ]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lease {
    /// Credit that was charged ahead. The last lease was of 2^growth requests or a little more.
    Credit { left: u32, growth: u32 },
    /// A request of this cost was refused.
    Refused { cost: u32 },
}

/// The largest value that can be remembered.
pub(crate) const MOST: u32 = 0xfff;
/// The largest number of a note.
pub(crate) const LARGEST: u32 = 0xffff;
const VALUE_BITS: u32 = 12;
const REFUSED: u32 = 0xf;

impl Lease {
    pub(crate) fn of(note: Note) -> Self {
        match (note.number >> VALUE_BITS, note.number & MOST) {
            (REFUSED, cost) => Self::Refused { cost },
            (growth, left) => Self::Credit { left, growth },
        }
    }

    /// The number to note; values that are too large are cut, which loses credit and never makes any.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Credit { left, growth } => growth.min(REFUSED - 1) << VALUE_BITS | left.min(MOST),
            Self::Refused { cost } => REFUSED << VALUE_BITS | cost.min(MOST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tollgate::Nanos;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn parts_come_back(left in 0..=MOST, growth in 0..REFUSED, refused: bool) {
            let lease = if refused { Lease::Refused { cost: left } } else { Lease::Credit { left, growth } };
            prop_assert!(lease.number() <= LARGEST);
            prop_assert_eq!(Lease::of(Note { lasts: Nanos(1), number: lease.number() }), lease);
        }
    }
}
