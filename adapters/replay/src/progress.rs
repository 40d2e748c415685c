use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use tollgate_replay::Place;

/// How far a replay is, on a terminal: a bar with the lines a second and the time left.
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
}

impl Progress {
    /// A bar for the bytes of these logs, or, where these are not known, what has been done.
    pub(crate) fn new(places: &[Place]) -> Self {
        let total = places.iter().map(Place::size).sum::<Option<u64>>();
        let (bar, template) = match total {
            Some(total) => (ProgressBar::new(total), "{bar:40} {percent:>3}%  {msg}, {eta} left"),
            None => (ProgressBar::new_spinner(), "{spinner} {bytes}  {msg}, {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar, began: Instant::now() }
    }

    /// Tells how much was read.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    pub(crate) fn tell(&self, bytes: u64, lines: u64) {
        let rate = lines as f64 / self.began.elapsed().as_secs_f64().max(0.001);
        self.bar.set_message(format!("{lines} lines, {rate:.0} lines/s"));
        self.bar.set_position(bytes);
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
