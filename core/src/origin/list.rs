//! A list in a header field (RFC 9110, section 5.6.1), taken apart from the right.

/// A line whose last element is cut off.
pub(super) struct Split<'r> {
    /// What precedes the comma; `None` if there is none.
    pub(super) rest: Option<&'r [u8]>,
    pub(super) element: &'r [u8],
}

/// Cuts the last element off.
pub(super) fn split_last(line: &[u8]) -> Option<Split<'_>> {
    let Some(comma) = line.iter().rposition(|&byte| byte == b',') else {
        return Some(Split { rest: None, element: line });
    };
    let (rest, after) = line.split_at_checked(comma)?;
    let (_, element) = after.split_first()?;
    Some(Split { rest: Some(rest), element })
}

/// White space as HTTP has it (RFC 9110, section 5.6.3).
pub(super) fn blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

pub(super) fn trim(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && blank(*first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && blank(*last)
    {
        text = rest;
    }
    text
}
