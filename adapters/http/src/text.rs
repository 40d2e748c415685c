//! Texts in place, without allocation.

use std::fmt::{self, Write};

use crate::policy::MOST_POLICIES;

/// A member of a field's list: a policy's name of at most 32 bytes in quotes, two numbers and their labels.
pub(crate) type Text = heapless::String<64>;

/// A field's value: a member for each policy and one for requests under way, and what separates them.
pub(crate) type List = heapless::String<{ (MOST_POLICIES + 1) * (64 + 2) }>;

/// The members, separated.
pub(crate) fn list(members: impl Iterator<Item = impl fmt::Display>) -> List {
    let mut list = List::new();
    for (index, member) in members.enumerate() {
        let written = write!(list, "{}{member}", if index > 0 { ", " } else { "" });
        debug_assert!(written.is_ok(), "{member} does not fit");
    }
    list
}

/// Formats in place. What is written has a bounded length, and the tests write the longest.
pub(crate) fn text<const N: usize>(arguments: fmt::Arguments<'_>) -> heapless::String<N> {
    let mut text = heapless::String::new();
    let written = text.write_fmt(arguments);
    debug_assert!(written.is_ok(), "{arguments} does not fit");
    text
}
