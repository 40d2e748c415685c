//! Texts in place, without allocation.

use std::fmt::{self, Write};

/// A field's value: a policy's name of at most 32 bytes, two numbers and their labels.
pub(crate) type Text = heapless::String<80>;

/// Formats in place. What is written has a bounded length, and the tests write the longest.
pub(crate) fn text<const N: usize>(arguments: fmt::Arguments<'_>) -> heapless::String<N> {
    let mut text = heapless::String::new();
    let written = text.write_fmt(arguments);
    debug_assert!(written.is_ok(), "{arguments} does not fit");
    text
}
