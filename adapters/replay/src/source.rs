use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use memchr::memchr;
use tollgate::Nanos;

use crate::entry::{Entry, Eyes};
use crate::format::{Format, Parser};
use crate::lines::{Line, Lines, PEEK};
use crate::open::Place;
use crate::reading::{Reading, shown};
use crate::record::Fault;
use crate::reorder::LATEST;

/// One log that is being read, request by request.
pub struct Source {
    lines: Lines<Box<dyn Read>>,
    /// Nothing is read of a log whose format is not known.
    parser: Option<Parser>,
    /// The latest time that is believed.
    newest: Option<Nanos>,
    /// A request that was read to see whether the clock stays where it jumped to.
    held: Option<Entry>,
    reading: Reading,
}

impl Source {
    /// Opens a log and finds out its format, unless one is given.
    ///
    /// # Errors
    /// If it can't be opened.
    pub fn open(
        place: &Place,
        format: Option<&Format>,
        eyes: &Eyes,
        read: &Rc<Cell<u64>>,
    ) -> io::Result<Self> {
        Ok(Self::new(place.name(), place.open(read)?, format, eyes))
    }

    /// Reads a log from anything.
    pub fn new(name: String, from: Box<dyn Read>, format: Option<&Format>, eyes: &Eyes) -> Self {
        let mut lines = Lines::new(from);
        let mut reading = Reading::new(name);
        let format = format.cloned().or_else(|| find(&mut lines, &mut reading));
        reading.format = format.as_ref().map(ToString::to_string);
        let parser = format.map(|format| Parser::new(format, eyes.wanted()));
        Self { lines, parser, newest: None, held: None, reading }
    }

    /// The next request.
    ///
    /// A time that is an hour or more ahead of all before it, and that the line after it does not keep to, is an error of
    /// a clock: such a line is counted and left out, or all that follow would be late.
    pub fn next(&mut self, eyes: &Eyes) -> Option<Entry> {
        loop {
            let entry = match self.held.take() {
                Some(entry) => entry,
                None => self.read(eyes)?,
            };
            // Of the first line nothing is known yet; so it takes more to disbelieve it.
            let lateness = if self.newest.is_none() { JUMP } else { LATENESS };
            if self.newest.is_none_or(|newest| entry.time >= newest.saturating_add(JUMP)) {
                self.held = self.read(eyes);
                if self.held.is_some_and(|after| after.time.saturating_add(lateness) < entry.time) {
                    self.reading.astray += 1;
                    continue;
                }
            }
            self.newest = self.newest.max(Some(entry.time));
            return Some(entry);
        }
    }

    /// What was read so far.
    pub const fn reading(&self) -> &Reading {
        &self.reading
    }

    /// What was read.
    pub fn into_reading(self) -> Reading {
        self.reading
    }

    fn read(&mut self, eyes: &Eyes) -> Option<Entry> {
        let parser = self.parser.as_mut()?;
        loop {
            let (line, fault) = match self.lines.next() {
                Ok(Some(Line::Whole([]))) => continue,
                Ok(Some(Line::Whole(line))) => match parser.parse(line) {
                    Ok(record) => {
                        self.reading.lines += 1;
                        self.reading.nameless +=
                            u64::from(eyes.forwarded.is_some() && record.forwarded.is_none());
                        return Some(eyes.entry(&record));
                    }
                    Err(fault) => (line, fault),
                },
                Ok(Some(Line::TooLong(begin))) => (begin, Fault::TooLong),
                Ok(None) => return None,
                Err(error) => {
                    self.reading.trouble = Some(format!(
                        "it breaks off after {} lines ({error}); what was read before counts",
                        self.reading.lines
                    ));
                    return None;
                }
            };
            self.reading.lines += 1;
            self.reading.fault(line, fault, Some(parser.format()));
        }
    }
}

/// The format of a log, or nothing, which the reading then explains. First lines that are longer than what is looked at
/// are passed over: a log that was emptied while it was written may begin with many zeros.
fn find(lines: &mut Lines<Box<dyn Read>>, reading: &mut Reading) -> Option<Format> {
    let mut trouble = None;
    loop {
        let begin = lines.peek();
        let is_long = begin.len() >= PEEK && memchr(b'\n', begin).is_none();
        let is_empty = begin.trim_ascii().is_empty();
        match detect(begin) {
            Ok(format) => return Some(format),
            Err(error) if !is_empty => trouble = trouble.or(Some(error)),
            Err(_) => {}
        }
        if let Some(error) = lines.failure() {
            trouble = Some(format!("it breaks off before a line is whole ({error})"));
        }
        let line = if is_long { lines.next().ok().flatten() } else { None };
        let (line, fault) = match line {
            Some(Line::Whole(line)) => (line, Fault::Shape),
            Some(Line::TooLong(begin)) => (begin, Fault::TooLong),
            None => break,
        };
        reading.lines += 1;
        reading.fault(line, fault, None);
    }
    reading.is_empty = trouble.is_none();
    reading.trouble = trouble;
    None
}

/// The format of a log by its begin, or why there is none.
fn detect(begin: &[u8]) -> Result<Format, String> {
    let lines = begin.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines = lines.filter(|line| !line.is_empty()).take(DETECTED_BY);
    Format::detect(lines.clone()).ok_or_else(|| {
        if begin.get(..BINARY_BEGIN).unwrap_or(begin).contains(&0) {
            return "it is binary, not a log; of packed logs gzip and zstd can be read".into();
        }
        let first = lines.clone().next().map(shown).unwrap_or_default();
        format!(
            "its format is not known; describe it with --pattern, such as '{{peer}} - {{_}} [{{time}}] \"{{request}}\" {{status}} {{_}}'. \
             The first line is: {first}"
        )
    })
}

/// How many lines tell a format.
const DETECTED_BY: usize = 100;
const BINARY_BEGIN: usize = 8_192;
const JUMP: Nanos = Nanos::from_secs(3_600);
const LATENESS: Nanos = Nanos::from_secs(LATEST);
