//! The cases, a file for each matter.

use std::sync::LazyLock;

use crate::case::Case;

mod addresses;
mod answers;
mod bodies;
mod budgets;
mod changes;
mod concurrency;
mod disconnects;
mod fields;
mod guards;
mod handlers;
mod identities;
mod incident;
mod limits;
mod nested;
mod outcomes;
mod peers;
mod reports;
mod shared;
mod terms;
mod vectors;
mod wire;

/// All cases, in the table's order.
pub static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    [
        incident::CASES,
        budgets::CASES,
        concurrency::CASES,
        fields::CASES,
        answers::CASES,
        nested::CASES,
        identities::CASES,
        guards::CASES,
        handlers::CASES,
        addresses::CASES,
        vectors::CASES,
        peers::CASES,
        terms::CASES,
        limits::CASES,
        outcomes::CASES,
        changes::CASES,
        disconnects::CASES,
        reports::CASES,
        shared::CASES,
        bodies::CASES,
        wire::CASES,
    ]
    .concat()
});
