use core::net::IpAddr;

use super::list::{Split, trim};
use super::source::Source;
use super::{forwarded, list, node};

/// The addresses of a forwarded chain, the nearest hop's first; `None` for an element that is none.
///
/// All lines are one list. Empty elements are skipped. At most 32 elements, empty ones included, and 16 KiB are looked
/// at, 512 bytes for each, so that no field is long enough to keep a server busy.
pub(super) struct Chain<'r, I> {
    lines: I,
    source: Source,
    /// What is left of the current line.
    rest: Option<&'r [u8]>,
    /// Whether the current line goes on to the left, beyond what may be looked at.
    cut: bool,
    elements_left: u8,
    bytes_left: usize,
}

/// The most elements that are looked at.
pub(super) const MOST_ELEMENTS: u8 = 32;
/// The most bytes of a field that are looked at.
pub(super) const MOST_BYTES: usize = 16 << 10;

impl<'r, I: DoubleEndedIterator<Item = &'r [u8]>> Chain<'r, I> {
    pub(super) fn new(source: Source, lines: I) -> Self {
        let (elements_left, bytes_left) = (MOST_ELEMENTS, MOST_BYTES);
        Self { lines, source, rest: None, cut: false, elements_left, bytes_left }
    }

    /// The last line of those that are left, or as much of its end as may be looked at.
    fn line(&mut self) -> Option<&'r [u8]> {
        let line = self.lines.next_back()?;
        let beyond = line.len().saturating_sub(self.bytes_left);
        self.cut = beyond > 0;
        self.bytes_left = self.bytes_left.saturating_sub(line.len());
        line.get(beyond..)
    }

    fn element(&mut self) -> Option<Element<'r>> {
        self.elements_left = self.elements_left.checked_sub(1)?;
        let line = match self.rest.take() {
            Some(rest) => rest,
            None => self.line()?,
        };
        let split = match self.source {
            Source::Forwarded => forwarded::split_last(line),
            _ => list::split_last(line),
        };
        Some(match split {
            Some(Split { rest: None, .. }) if self.cut => Element::Broken,
            Some(Split { rest, element }) => {
                self.rest = rest;
                Element::Whole(trim(element))
            }
            None => Element::Broken,
        })
    }
}

enum Element<'r> {
    Whole(&'r [u8]),
    /// Where it begins can't be told.
    Broken,
}

impl<'r, I: DoubleEndedIterator<Item = &'r [u8]>> Iterator for Chain<'r, I> {
    type Item = Option<IpAddr>;

    fn next(&mut self) -> Option<Option<IpAddr>> {
        loop {
            return match self.element()? {
                Element::Whole([]) => continue,
                Element::Whole(element) if self.source == Source::Forwarded => {
                    Some(forwarded::address(element))
                }
                Element::Whole(element) => Some(node::any(element)),
                Element::Broken => Some(None),
            };
        }
    }
}
