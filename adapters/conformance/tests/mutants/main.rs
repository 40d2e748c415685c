//! The suite can fail: an adapter that does everything right passes, and with each of its flaws the cases that are about
//! it fail.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod flaw;
mod lines;
mod middleware;
mod server;

use std::net::SocketAddr;
use std::thread;

use tollgate_conformance::{Adapter, App, CASES, run};

use crate::flaw::{FLAWS, Flaw};

/// An adapter of one file on axum's middleware, which has nothing in common with tollgate-axum.
struct Mutant(Option<Flaw>);

impl Adapter for Mutant {
    const NAME: &'static str = "mutant";

    async fn serve(&self, app: App) -> SocketAddr {
        server::serve(app, self.0).await
    }
}

#[test]
fn without_a_flaw_all_pass() {
    let report = run(Mutant(None));
    assert_eq!(report.failed(), [""; 0], "{report}");
}

#[test]
fn each_flaw_fails_the_cases_that_are_about_it() {
    for case in FLAWS.iter().flat_map(|(_, caught_by)| *caught_by) {
        assert!(CASES.iter().any(|known| known.name == *case), "no case is called {case}");
    }
    let missed = |(flaw, caught_by): &(Flaw, &[&'static str])| {
        let report = run(Mutant(Some(*flaw)));
        let failed = report.failed();
        println!("{flaw:?} fails {} of {} cases: {failed:?}", failed.len(), CASES.len());
        let missed: Vec<_> = caught_by.iter().filter(|case| !failed.contains(case)).collect();
        (!missed.is_empty()).then(|| format!("{flaw:?} passes {missed:?}"))
    };
    // Some mutants do nothing for as long as a case has patience, so several play at once.
    let missed: Vec<_> = thread::scope(|scope| {
        let play = |first| move || FLAWS.iter().skip(first).step_by(4).filter_map(missed).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|first| scope.spawn(play(first))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(missed.is_empty(), "{missed:#?}");
}
