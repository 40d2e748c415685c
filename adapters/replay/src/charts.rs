//! Charts as inline SVG. They hold nothing but numbers, so nothing in them needs escaping; their labels are the page's,
//! so that they stay legible on a narrow screen.

use std::fmt::Write;

use tollgate_replay::{Bar, Peaks};

/// Requests over time, with those that were refused in front. Both are counts of the same spans.
pub(crate) fn over_time(requests: &[u64], refused: &[u64]) -> String {
    let most = requests.iter().copied().max().unwrap_or_default().max(1);
    let mut svg = begin(requests.len());
    for (class, counts) in [("all", requests), ("refused", refused)] {
        let mut path = format!("M0 {HEIGHT}");
        for (index, count) in counts.iter().enumerate() {
            let y = HEIGHT - scaled(*count, most);
            let _ = write!(path, "V{y:.2}H{}", index + 1);
        }
        let _ = write!(svg, r#"<path class="{class}" d="{path}V{HEIGHT}Z"/>"#);
    }
    svg + "</svg>"
}

/// How many callers have which peak, those that were refused something in front, and the limit as a line. Heights are
/// logarithmic, so that one caller among thousands is seen.
pub(crate) fn peaks(peaks: &Peaks, limit: u32) -> String {
    let bars = &peaks.bars;
    let most = bars.iter().map(|bar| bar.callers).max().unwrap_or_default();
    let top = height(most).max(1.0);
    let mut svg = begin(width(peaks, limit));
    for (index, Bar { callers, refused, .. }) in bars.iter().enumerate() {
        for (class, count) in [("all", *callers), ("refused", *refused)] {
            let tall = HEIGHT * height(count) / top;
            let (x, y) = (index, HEIGHT - tall);
            let _ =
                write!(svg, r#"<rect class="{class}" x="{x}.1" y="{y:.2}" width=".8" height="{tall:.2}"/>"#);
        }
    }
    // A limit between two powers of two is between the ends of their bars.
    let x = f64::from(limit.max(1)).log2() + 1.0;
    let _ = write!(svg, r#"<path class="limit" d="M{x:.3} 0V{HEIGHT}"/>"#);
    svg + "</svg>"
}

/// How many bars wide the chart of peaks is, with room for the limit.
pub(crate) fn width(peaks: &Peaks, limit: u32) -> usize {
    let of_limit = u32::BITS - limit.saturating_sub(1).leading_zeros() + 1;
    peaks.bars.len().max(usize::try_from(of_limit).unwrap_or_default()).max(1)
}

/// The picture is stretched to its place, so its units are those of what it shows. A reader of the page gets the text
/// beside it.
fn begin(width: usize) -> String {
    format!(
        r#"<svg viewBox="0 0 {} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true" focusable="false">"#,
        width.max(1)
    )
}

fn height(count: u64) -> f64 {
    scaled_count(count).ln_1p()
}

fn scaled(count: u64, most: u64) -> f64 {
    HEIGHT * scaled_count(count) / scaled_count(most)
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
const fn scaled_count(count: u64) -> f64 {
    count as f64
}

const HEIGHT: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_parts_of_the_most() {
        let svg = over_time(&[4, 2], &[1, 0]);
        assert!(svg.contains(r#"class="all" d="M0 100V0.00H1V50.00H2V100Z""#), "{svg}");
        assert!(svg.contains(r#"class="refused" d="M0 100V75.00H1V100.00H2V100Z""#), "{svg}");
    }

    #[test]
    fn the_limit_stands_where_its_power_of_two_does() {
        let some = Peaks::new([(1, false), (4, true)]);
        for (limit, x) in [(1, "1.000"), (2, "2.000"), (3, "2.585"), (300, "9.229")] {
            let svg = peaks(&some, limit);
            assert!(svg.contains(&format!(r#"d="M{x} 0"#)), "{svg}");
            assert!(f64::from(u32::try_from(width(&some, limit)).unwrap()) >= x.parse().unwrap());
        }
        assert!(peaks(&Peaks::default(), 1).contains("viewBox=\"0 0 1 "));
    }
}
