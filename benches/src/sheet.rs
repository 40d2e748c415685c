//! A table of figures, printed and written as a file.

use std::fs;
use std::io;
use std::path::Path;

use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;

/// Rows of figures under named columns.
pub struct Sheet<const N: usize> {
    columns: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Sheet<N> {
    /// An empty one.
    pub const fn new(columns: [&'static str; N]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn add(&mut self, row: [String; N]) {
        self.rows.push(row);
    }

    /// Prints it as a table of Markdown.
    pub fn print(&self) {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(self.columns);
        for row in &self.rows {
            table.add_row(row);
        }
        println!("{table}\n");
    }

    /// Writes it with tabs between the columns.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let rows = self.rows.iter().map(|row| row.join("\t") + "\n");
        fs::write(path, self.columns.join("\t") + "\n" + &rows.collect::<String>())
    }
}
