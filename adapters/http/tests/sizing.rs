//! The calculator of `docs/sizing.md` is what tables come to.

use std::fs;

use tollgate_http::{Gate, Quota};

#[test]
fn the_calculator_is_what_a_table_comes_to() {
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/sizing.md")).unwrap();
    let mut rows = 0;
    for line in guide.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, callers, capacity, slots, memory, _] = cells[..] else { continue };
        let (Some(callers), Some(slots)) = (number(callers), number(slots)) else { continue };
        let gate = Gate::builder(Quota::per_minute(300));
        let gate = if let Some(capacity) = number(capacity) { gate.capacity(capacity) } else { gate };
        let built = gate.build().unwrap().limiter().capacity();
        assert!(built == slots && slots >= 2 * callers, "{line}: {built} slots");
        assert_eq!(bytes(memory), Some(slots * 8), "{line}");
        rows += 1;
    }
    assert_eq!(rows, 7, "a row has another form");
}

fn number(text: &str) -> Option<usize> {
    text.replace(',', "").parse().ok()
}

fn bytes(text: &str) -> Option<usize> {
    let (size, unit) = text.split_once(' ')?;
    let unit = match unit {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return None,
    };
    Some(number(size)? * unit)
}
