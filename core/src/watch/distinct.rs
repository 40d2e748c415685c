//! How many different things were seen, without keeping one of them: linear counting.

use crate::key::Key;

/// A bit for a hint, of 64.
#[inline]
pub(super) const fn bit(hint: Key) -> u64 {
    1 << (hint.fingerprint() >> 58)
}

/// A bit for a credential, of 24.
#[inline]
pub(super) const fn small_bit(credential: Key) -> u64 {
    1 << (((credential.fingerprint() >> 40) * SMALL as u64) >> 24)
}

/// About how many different hints have set these bits.
///
/// With n bits of which z are still zero it is n × ln(n ∕ z), rounded, and off by 14 % at 8 of them and by 10 % at 40
/// (one standard deviation).
pub(super) const fn estimate(bits: u64) -> u16 {
    ESTIMATES[bits.count_ones() as usize % 65]
}

/// Bits for credentials.
pub(super) const SMALL: u32 = 24;

/// What [`estimate`] answers when every bit is set: so many, or any larger number.
pub(super) const MOST: u16 = 267;

/// 64 × ln(64 ∕ (64 − bits)), rounded.
const ESTIMATES: [u16; 65] = [
    0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 15, 16, 17, 18, 20, 21, 23, 24, 25, 27, 28, 30, 32, 33, 35,
    37, 39, 40, 42, 44, 46, 48, 51, 53, 55, 58, 60, 63, 65, 68, 71, 74, 78, 81, 85, 89, 93, 97, 102, 107,
    113, 119, 126, 133, 142, 151, 163, 177, 196, 222, 266, MOST,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Keyer;

    #[test]
    fn the_table_is_the_formula() {
        for set in 0..64_u32 {
            let formula = 64.0 * (64.0 / f64::from(64 - set)).ln();
            let told = f64::from(estimate(u64::MAX.unbounded_shr(64 - set)));
            assert!((told - formula).abs() <= 0.5, "{set} bits: {told}, by the formula {formula}");
        }
        assert_eq!(estimate(u64::MAX), MOST);
    }

    // Whang et al.: the standard error of the count n with m bits is √(m (eᵗ − t − 1)) ∕ n, t = n ∕ m. Ours is rounded.
    #[test]
    fn estimates_are_as_good_as_the_paper_says() {
        let keyer = Keyer::new(*b"a seed for tests");
        for callers in [8_u32, 20, 40, 100] {
            let rounds = 500_u32;
            let mut squares = 0.0;
            for round in 0..rounds {
                let hint = |caller: u32| keyer.parts(&[&round.to_le_bytes(), &caller.to_le_bytes()]);
                let bits = (0..callers).fold(0, |bits, caller| bits | bit(hint(caller)));
                assert!(bits.count_ones() <= callers);
                squares += (f64::from(estimate(bits)) / f64::from(callers) - 1.0).powi(2);
            }
            let error = (squares / f64::from(rounds)).sqrt();
            let load = f64::from(callers) / 64.0;
            let paper = (64.0 * (load.exp() - load - 1.0)).sqrt() / f64::from(callers);
            assert!((error - paper).abs() < 0.06, "{callers}: {error} and {paper}");
        }
    }

    #[test]
    fn every_bit_is_used_and_equal_things_set_one() {
        let keyer = Keyer::new(*b"a seed for tests");
        let (mut all, mut small) = (0, 0);
        for number in 0..1_000_u32 {
            let key = keyer.bytes(&number.to_le_bytes());
            assert_eq!((bit(key), small_bit(key)), (bit(key), small_bit(key)));
            all |= bit(key);
            small |= small_bit(key);
        }
        assert_eq!((all, small), (u64::MAX, (1 << SMALL) - 1));
    }
}
