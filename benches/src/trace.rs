//! Whose requests come, one after the other.

use std::error::Error;

use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// Callers by Zipf's law: the second sends half as many requests as the first, the third a third.
///
/// # Errors
/// If there is no caller.
pub fn zipf(callers: u32, requests: usize, seed: u64) -> Result<Vec<u32>, Box<dyn Error>> {
    let ranks = WeightedIndex::new((1..=callers).map(|rank| 1.0 / f64::from(rank)))?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..requests).map(|_| Ok(u32::try_from(ranks.sample(&mut random))?)).collect()
}

/// Callers who all send as much.
pub struct Uniform {
    random: Xoshiro256PlusPlus,
    callers: u32,
}

impl Uniform {
    /// Of so many callers.
    pub fn new(callers: u32) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(2), callers }
    }
}

impl Iterator for Uniform {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        Some(self.random.random_range(0..self.callers))
    }
}
