//! The incident.

fn main() {}
