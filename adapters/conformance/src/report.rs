use std::io;
use std::path::{Path, PathBuf};
use std::{env, fmt, fs};

/// How each case went with one adapter.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a report that nobody reads hides failures"]
pub struct Report {
    /// The adapter's name.
    pub adapter: &'static str,
    /// In the suite's order: a case's name, what it shows, and how it went.
    pub lines: Vec<(&'static str, &'static str, Outcome)>,
}

/// How a case went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// As it has to.
    Passed,
    /// Otherwise, and how.
    Failed(String),
    /// The framework can't do it, and why.
    NotApplicable(&'static str),
}

impl Report {
    /// The names of the cases that failed.
    pub fn failed(&self) -> Vec<&'static str> {
        let failed = self.lines.iter().filter(|(.., outcome)| matches!(outcome, Outcome::Failed(_)));
        failed.map(|&(name, ..)| name).collect()
    }

    /// Writes `target/conformance/<adapter>.tsv`, a line for each case: name, what it shows, outcome, remark.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write(&self) -> io::Result<PathBuf> {
        // A test's program is target/<profile>/deps/<name>.
        let program = env::current_exe()?;
        let folder = program.ancestors().nth(3).unwrap_or(Path::new("target")).join("conformance");
        fs::create_dir_all(&folder)?;
        let path = folder.join(self.adapter).with_extension("tsv");
        fs::write(&path, self.to_string())?;
        Ok(path)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, about, outcome) in &self.lines {
            let (outcome, remark) = match outcome {
                Outcome::Passed => ("passed", String::new()),
                Outcome::Failed(how) => ("FAILED", how.replace(['\t', '\n'], " ")),
                Outcome::NotApplicable(why) => ("not applicable", (*why).to_owned()),
            };
            writeln!(f, "{name}\t{about}\t{outcome}\t{remark}")?;
        }
        Ok(())
    }
}
