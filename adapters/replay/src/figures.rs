//! Numbers for people.

use std::fmt::Display;

/// A number with its thousands apart: `1,234,567`.
pub(crate) fn grouped(number: impl Display) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of a whole: `37.2 %`.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
pub(crate) fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// A number and its noun: `1 caller`, `2 callers`.
pub(crate) fn counted(number: impl Display, noun: &str) -> String {
    let number = grouped(number);
    format!("{number} {noun}{}", if number == "1" { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_readable() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(0, 0), "0.0 %");
        assert_eq!((counted(1, "caller"), counted(0, "caller")), ("1 caller".into(), "0 callers".into()));
    }
}
