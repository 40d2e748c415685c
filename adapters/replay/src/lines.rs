use std::io::{self, Read};

use memchr::memchr;

/// Cuts what is read into lines, in memory that does not grow with the log: a line that is longer than [`LONGEST_LINE`]
/// is passed over, and only its begin is told.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    /// What of the buffer is not yet told.
    begin: usize,
    end: usize,
    is_over: bool,
    /// A line that is too long was begun.
    skips: bool,
    failure: Option<io::Error>,
}

/// One line, without its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'b> {
    /// All of it.
    Whole(&'b [u8]),
    /// The begin of one that is too long.
    TooLong(&'b [u8]),
}

impl<R: Read> Lines<R> {
    /// Lines of what `from` gives.
    pub fn new(from: R) -> Self {
        let buffer = vec![0; CHUNK];
        Self { from, buffer, begin: 0, end: 0, is_over: false, skips: false, failure: None }
    }

    /// What comes next, as much as is looked at to find out the format: some 64 KiB, or all if there is less.
    ///
    /// A failure to read is told by [`next`](Self::next), after the lines before it.
    pub fn peek(&mut self) -> &[u8] {
        self.pass_over();
        while self.end - self.begin < PEEK && !self.is_over {
            self.fill();
        }
        self.buffer.get(self.begin..self.end).unwrap_or_default()
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// If reading fails: once, after all lines that were read whole before. Then it is over.
    #[expect(clippy::should_implement_trait, reason = "the line borrows from the buffer")]
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.pass_over();
        let mut searched = 0;
        loop {
            let waiting = self.buffer.get(self.begin + searched..self.end).unwrap_or_default();
            if let Some(at) = memchr(b'\n', waiting) {
                let (from, to) = (self.begin, self.begin + searched + at);
                self.begin = to + 1;
                return Ok(Some(Line::Whole(chomped(self.buffer.get(from..to).unwrap_or_default()))));
            }
            searched = self.end - self.begin;
            if self.is_over {
                return self.finish();
            }
            if searched > LONGEST_LINE {
                self.skips = true;
                let shown = self.begin..self.begin + SHOWN;
                (self.begin, self.end) = (0, 0);
                return Ok(Some(Line::TooLong(self.buffer.get(shown).unwrap_or_default())));
            }
            self.fill();
        }
    }

    /// Why nothing more can be read, until [`next`](Self::next) has told it.
    pub const fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Passes over the rest of a line that is too long.
    fn pass_over(&mut self) {
        while self.skips {
            let waiting = self.buffer.get(self.begin..self.end).unwrap_or_default();
            if let Some(at) = memchr(b'\n', waiting) {
                (self.begin, self.skips) = (self.begin + at + 1, false);
                return;
            }
            (self.begin, self.end) = (0, 0);
            if self.is_over {
                self.skips = false;
                return;
            }
            self.fill();
        }
    }

    /// The last line, which may lack its end. Of a log that broke off it is a piece, and not told.
    fn finish(&mut self) -> io::Result<Option<Line<'_>>> {
        let rest = self.begin..std::mem::take(&mut self.end);
        self.begin = 0;
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let rest = self.buffer.get(rest).unwrap_or_default();
        Ok((!rest.is_empty()).then(|| Line::Whole(chomped(rest))))
    }

    /// Reads once, into the room behind what is not yet told.
    fn fill(&mut self) {
        if self.begin > 0 && self.end + CHUNK / 4 > self.buffer.len() {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        if self.end + CHUNK / 4 > self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        match self.from.read(room) {
            Ok(0) => self.is_over = true,
            Ok(length) => self.end += length.min(room.len()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => (self.is_over, self.failure) = (true, Some(error)),
        }
    }
}

/// A line without the carriage return of systems that write one.
fn chomped(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The longest line that is read: longer than any request that a server accepts.
pub const LONGEST_LINE: usize = 1 << 20;
const CHUNK: usize = 256 << 10;
pub(crate) const PEEK: usize = 64 << 10;
/// How much is told of a line that is too long.
const SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Gives its bytes in pieces of these lengths, and then fails or ends.
    struct Pieces<'b> {
        bytes: &'b [u8],
        lengths: std::iter::Cycle<std::vec::IntoIter<usize>>,
        fails: bool,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let length = self.lengths.next().unwrap().min(room.len()).min(self.bytes.len());
            if length == 0 && std::mem::take(&mut self.fails) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let (now, later) = self.bytes.split_at(length);
            room[..length].copy_from_slice(now);
            self.bytes = later;
            Ok(length)
        }
    }

    fn read<R: Read>(mut lines: Lines<R>) -> (Vec<Vec<u8>>, bool) {
        let mut all = Vec::new();
        loop {
            match lines.next() {
                Ok(Some(Line::Whole(line))) => all.push(line.to_vec()),
                Ok(Some(Line::TooLong(begin))) => all.push([b"LONG ", &begin[..5]].concat()),
                Ok(None) => return (all, false),
                Err(_) => {
                    assert!(matches!(lines.next(), Ok(None)), "after a failure it is over");
                    return (all, true);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        /// Against splitting the whole text at once.
        #[test]
        fn lines_are_those_of_the_whole_text(
            written in vec((0..4_usize, any::<u8>(), 0..2_000_usize), 0..60),
            lengths in vec(1..300_000_usize, 1..5),
            ends in any::<bool>(),
            fails in any::<bool>(),
            peeks in any::<bool>(),
        ) {
            let written: Vec<Vec<u8>> = written
                .into_iter()
                .map(|(kind, byte, length)| match kind {
                    0 => Vec::new(),
                    // Much longer than may be, now and then.
                    1 if length < 60 => vec![b'l'; 3 * LONGEST_LINE * (length % 2) + length],
                    _ => vec![if byte == b'\n' || byte == b'\r' { b'x' } else { byte }; length],
                })
                .collect();
            let mut bytes = written.join(&b"\n"[..]);
            if ends {
                bytes.push(b'\n');
            }
            let mut texts: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
            // What follows the last end is a line only if it is something, and whole.
            if texts.last().is_some_and(|last| last.is_empty() || fails && last.len() <= LONGEST_LINE) {
                texts.pop();
            }
            let mut lines = Lines::new(Pieces { bytes: &bytes, lengths: lengths.into_iter().cycle(), fails });
            if peeks {
                let peeked = lines.peek();
                prop_assert!(bytes.starts_with(peeked));
                prop_assert!(peeked.len() >= bytes.len().min(PEEK));
            }
            let (found, failed) = read(lines);
            prop_assert_eq!(failed, fails);
            prop_assert_eq!(found.len(), texts.len());
            for (found, text) in found.iter().zip(&texts) {
                let expected = if text.len() <= LONGEST_LINE { text } else { &b"LONG lllll"[..] };
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn carriage_returns_are_ends_too() {
        assert_eq!(read(Lines::new(&b"a\r\nb\r\n\r\n"[..])).0, [&b"a"[..], b"b", b""]);
    }

    #[test]
    fn memory_does_not_grow_with_a_line() {
        let mut lines = Lines::new(io::repeat(b'x').take(40 << 20));
        assert!(matches!(lines.next(), Ok(Some(Line::TooLong(_)))));
        assert!(matches!(lines.next(), Ok(None)));
        assert!(lines.buffer.len() <= 2 * LONGEST_LINE + CHUNK, "{}", lines.buffer.len());
    }
}
