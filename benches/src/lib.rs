//! What the measuring programs share: a report of figures beside their targets, rounds, plots, and what is measured.

pub mod apps;
pub mod by_hand;
pub mod floor;
pub mod plot;
pub mod rounds;
pub mod sheet;
pub mod subjects;
pub mod trace;

use std::process::ExitCode;

use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;

/// A table of measured figures; some have targets, and one that is missed fails the program.
pub struct Report {
    table: Table,
    missed: usize,
}

impl Report {
    /// A report whose first column is called `first`; the others are the figure and its target.
    pub fn new(first: &str) -> Self {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header([first, "measured", "target", ""]);
        Self { table, missed: 0 }
    }

    /// A figure that is only told: it depends on the machine, or nothing is promised.
    pub fn told(&mut self, what: &str, measured: &str) {
        self.table.add_row([what, measured, "", ""]);
    }

    /// A figure that must meet its target on every machine.
    pub fn held(&mut self, what: &str, measured: &str, target: &str, met: bool) {
        self.table.add_row([what, measured, target, if met { "met" } else { "MISSED" }]);
        self.missed += usize::from(!met);
    }

    /// Prints the report; failure if a target was missed.
    pub fn print(self) -> ExitCode {
        println!("{}\n", self.table);
        if self.missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// A share as a percentage, with as many digits as small shares need.
#[expect(clippy::cast_precision_loss, reason = "both are far below 2⁵²")]
pub fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole as f64;
    match part {
        0 => "0 %".into(),
        _ if share < 0.1 => format!("{share:.5} %"),
        _ => format!("{share:.2} %"),
    }
}
