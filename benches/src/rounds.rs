//! Interleaved rounds of time on a core, so that a noisy machine hits all contestants alike, and little.

use std::error::Error;
use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

/// One subject's name and its round: how many nanoseconds a call took, or why it did not do its work.
pub type Contestant<'c> = (&'static str, Box<dyn FnMut() -> Result<f64, Box<dyn Error>> + 'c>);

/// Rounds of all contestants in turn, each going first as often as the others; the spans of each, round by round.
///
/// # Errors
/// If a contestant did not do its work.
pub fn interleaved(
    rounds: usize,
    contestants: &mut [Contestant<'_>],
) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let mut spans = vec![Vec::with_capacity(rounds); contestants.len()];
    for first in 0..rounds {
        for turn in 0..contestants.len() {
            let which = (first + turn) % contestants.len();
            let (Some((name, round)), Some(spans)) = (contestants.get_mut(which), spans.get_mut(which))
            else {
                continue;
            };
            spans.push(round().map_err(|error| format!("{name}: {error}"))?);
        }
    }
    Ok(spans)
}

/// The middle one; of an even number, the larger of the two in the middle.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The mean time of a call on its core, in nanoseconds. While others have the core it stands still; on a quiet machine it
/// is the time that passes.
///
/// # Errors
/// If a call says that it did not do its work.
#[expect(clippy::cast_precision_loss, reason = "far below 2⁵²")]
pub fn timed(calls: usize, mut call: impl FnMut(usize) -> bool) -> Result<f64, Box<dyn Error>> {
    let began = on_core();
    let done = (0..calls).filter(|&index| black_box(call(index))).count();
    let nanos = (on_core() - began) * 1e9;
    if done == calls {
        Ok(nanos / calls as f64)
    } else {
        Err(format!("{} of {calls} calls were not answered as they should", calls - done).into())
    }
}

/// How many seconds this thread has run. It stands still while others have the core.
#[expect(clippy::cast_precision_loss, reason = "far below 2⁵²")]
pub fn on_core() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
