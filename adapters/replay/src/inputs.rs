use std::cell::Cell;
use std::io::ErrorKind;
use std::rc::Rc;

use tollgate::Nanos;

use crate::entry::{Entry, Eyes};
use crate::format::Format;
use crate::open::Place;
use crate::reading::Reading;
use crate::source::Source;

/// Several logs read as one, in the order of their times: rotated ones one after another, and those of several servers
/// side by side.
pub struct Inputs {
    /// Logs that are not needed yet, the latest first.
    later: Vec<Later>,
    /// Logs that are being read, each with its next request.
    open: Vec<(Entry, Source)>,
    /// When the next of the later logs begins.
    next_begins: Nanos,
    readings: Vec<Reading>,
    format: Option<Format>,
    read: Rc<Cell<u64>>,
}

/// A log that is not needed yet.
struct Later {
    begins: Nanos,
    place: Place,
    /// One that can't be read twice stays open.
    open: Option<(Entry, Source)>,
}

impl Inputs {
    /// Looks at the begin of each log. Those that can't be opened are told in [`readings`](Self::into_readings).
    pub fn new(places: Vec<Place>, format: Option<Format>, eyes: &Eyes) -> Self {
        let mut inputs = Self {
            later: Vec::new(),
            open: Vec::new(),
            next_begins: Nanos::MAX,
            readings: Vec::new(),
            format,
            read: Rc::default(),
        };
        let is_only = places.len() == 1;
        for place in places {
            // What is looked at now is read again later, and counted then.
            let count =
                if is_only || !place.is_rereadable() { Rc::clone(&inputs.read) } else { Rc::default() };
            if let Some((entry, source)) = inputs.begin(&place, eyes, &count) {
                let keeps = is_only || !place.is_rereadable();
                let open = keeps.then_some((entry, source));
                inputs.later.push(Later { begins: entry.time, place, open });
            }
        }
        inputs.later.sort_by_key(|later| std::cmp::Reverse(later.begins));
        inputs.next_begins = inputs.later.last().map_or(Nanos::MAX, |later| later.begins);
        inputs
    }

    /// The next request of all.
    pub fn next(&mut self, eyes: &Eyes) -> Option<Entry> {
        let first = loop {
            match self.first() {
                Some(first) if self.open[first].0.time < self.next_begins => break first,
                first if self.later.is_empty() => break first?,
                _ => self.open_next(eyes),
            }
        };
        let (head, source) = &mut self.open[first];
        let entry = *head;
        if let Some(next) = source.next(eyes) {
            *head = next;
        } else {
            let (_, source) = self.open.remove(first);
            self.readings.push(source.into_reading());
        }
        Some(entry)
    }

    /// How many bytes were read, as they are stored.
    pub fn bytes(&self) -> u64 {
        self.read.get()
    }

    /// What was read of each log.
    pub fn into_readings(self) -> Vec<Reading> {
        self.readings
    }

    /// The open log whose next request is the earliest.
    fn first(&self) -> Option<usize> {
        match self.open.len() {
            1 => Some(0),
            _ => (0..self.open.len()).min_by_key(|at| self.open[*at].0.time),
        }
    }

    fn open_next(&mut self, eyes: &Eyes) {
        if let Some(later) = self.later.pop() {
            let count = Rc::clone(&self.read);
            let open = later.open.or_else(|| self.begin(&later.place, eyes, &count));
            self.open.extend(open);
        }
        self.next_begins = self.later.last().map_or(Nanos::MAX, |later| later.begins);
    }

    /// Opens a log and reads its first request. If there is none, that is all that is told of it.
    fn begin(&mut self, place: &Place, eyes: &Eyes, count: &Rc<Cell<u64>>) -> Option<(Entry, Source)> {
        match Source::open(place, self.format.as_ref(), eyes, count) {
            Ok(mut source) => {
                let first = source.next(eyes);
                if first.is_none() {
                    self.readings.push(source.into_reading());
                    return None;
                }
                first.map(|entry| (entry, source))
            }
            Err(error) => {
                let mut reading = Reading::new(place.name());
                reading.trouble = Some(match error.kind() {
                    ErrorKind::IsADirectory => "it is a directory: name the logs in it".into(),
                    _ => format!("it can't be read: {error}"),
                });
                self.readings.push(reading);
                None
            }
        }
    }
}
