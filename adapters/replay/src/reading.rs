use serde::Serialize;

use crate::format::{FORMATS, Format};
use crate::record::{FAULTS, Fault};

/// What was read of one log, and what could not be.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Reading {
    /// The log's name.
    pub name: String,
    /// Its format, if one was found.
    pub format: Option<String>,
    /// Its lines, empty ones left out.
    pub lines: u64,
    /// Lines that are no requests.
    pub unparsed: u64,
    /// The same by reason.
    pub reasons: Vec<Reason>,
    /// The first few of them, cut and with odd bytes escaped.
    pub samples: Vec<String>,
    /// Requests that were left out since their time is ahead of the lines after them: a clock jumped, and back.
    pub astray: u64,
    /// Whether there is nothing in it.
    pub is_empty: bool,
    /// Whatever kept the log from being read whole.
    pub trouble: Option<String>,
    /// How many of the unparsed lines that were looked at are of other formats.
    #[serde(skip)]
    others: [u32; FORMATS.len()],
    /// Requests without the field that is to name the caller.
    #[serde(skip)]
    pub(crate) nameless: u64,
}

/// Why lines are no requests, and how many.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Reason {
    /// Why.
    pub reason: String,
    /// How many.
    pub lines: u64,
    #[serde(skip)]
    fault: Fault,
}

impl Reading {
    /// Nothing was read yet.
    pub(crate) fn new(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Counts a line that is no request.
    #[cold]
    pub(crate) fn fault(&mut self, line: &[u8], fault: Fault, format: Option<&Format>) {
        self.unparsed += 1;
        match self.reasons.iter_mut().find(|reason| reason.fault == fault) {
            Some(reason) => reason.lines += 1,
            None => self.reasons.push(Reason { reason: fault.to_string(), lines: 1, fault }),
        }
        debug_assert!(self.reasons.len() <= FAULTS.len(), "a reason is told once");
        if self.samples.len() < MOST_SAMPLES {
            self.samples.push(shown(line));
        }
        if self.unparsed <= MOST_LOOKED_AT {
            let is_other = |(other, _): &(&Format, &mut u32)| Some(*other) != format && other.reads(line);
            if let Some((_, count)) = FORMATS.iter().zip(&mut self.others).find(is_other) {
                *count += 1;
            }
        }
    }

    /// What is to be told to people about it, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let Self { name, unparsed, lines, .. } = self;
        let mut notes: Vec<String> =
            self.trouble.iter().map(|trouble| format!("{name}: {trouble}")).collect();
        if self.is_empty {
            notes.push(format!("{name}: it is empty"));
        }
        if *unparsed > 0 && self.format.is_some() {
            let reasons: Vec<String> =
                self.reasons.iter().map(|reason| format!("{} {}", reason.lines, reason.reason)).collect();
            notes.push(format!(
                "{name}: {unparsed} of {lines} lines are no requests ({})",
                reasons.join(", ")
            ));
            notes.extend(self.samples.iter().map(|sample| format!("    {sample}")));
        }
        for (format, count) in FORMATS.iter().zip(self.others).filter(|(_, count)| *count > 0) {
            notes.push(format!(
                "{name}: formats are mixed; of the first {} lines that could not be read {count} are of another ({format}): \
                 split the log by format",
                (*unparsed).min(MOST_LOOKED_AT)
            ));
        }
        if self.nameless > 0 && self.nameless == lines - unparsed {
            notes.push(format!(
                "{name}: no line has the field that --from names, so each caller is whoever opened the connection: let the \
                 server log it"
            ));
        }
        if self.astray > 0 {
            notes.push(format!(
                "{name}: {} requests are left out, whose times are an hour or more ahead of the lines after them: a clock \
                 was wrong",
                self.astray
            ));
        }
        notes
    }
}

/// The begin of a line, with nothing in it that a terminal would heed.
pub(crate) fn shown(line: &[u8]) -> String {
    let cut = line.get(..SHOWN).unwrap_or(line);
    let mut text: String = String::from_utf8_lossy(cut).chars().flat_map(plain).collect();
    if cut.len() < line.len() {
        text.push('…');
    }
    text
}

/// A character, escaped if it is not to be printed.
fn plain(char: char) -> impl Iterator<Item = char> {
    let escaped = char.is_control()
        || ('\u{202a}'..='\u{202e}').contains(&char)
        || ('\u{2066}'..='\u{2069}').contains(&char);
    let code = if escaped { Some(char.escape_unicode()) } else { None };
    let itself = if escaped { None } else { Some(char) };
    itself.into_iter().chain(code.into_iter().flatten())
}

/// How many unparsed lines are shown.
const MOST_SAMPLES: usize = 3;
/// How many unparsed lines are held against other formats.
const MOST_LOOKED_AT: u64 = 1_000;
const SHOWN: usize = 100;
