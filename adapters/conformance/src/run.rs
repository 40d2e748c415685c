use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tollgate_http::ManualClock;

use crate::adapter::{Adapter, Lack};
use crate::case::Case;
use crate::cases::CASES;
use crate::caught::{THREADS, caught};
use crate::log::Log;
use crate::report::{Outcome, Report};
use crate::stage::{Serving, Stage};

/// Plays every case with an adapter, writes the table, and fails if a case does.
///
/// # Panics
/// With the cases that failed, and how.
pub fn conform<A: Adapter>(adapter: A) {
    let report = run(adapter);
    let path = report.write().expect("the table can be written");
    for (name, about, outcome) in &report.lines {
        if let Outcome::Failed(how) = outcome {
            println!("FAILED: {name}: {about}\n        {how}");
        }
    }
    let failed = report.failed();
    let count = CASES.len();
    assert!(
        failed.is_empty(),
        "{} of {count} cases failed: {failed:?}; see {}",
        failed.len(),
        path.display()
    );
    println!("{count} cases with {}: {}", A::NAME, path.display());
}

/// Plays every case with an adapter.
///
/// # Panics
/// If an adapter lacks a case that there is not.
pub fn run<A: Adapter>(adapter: A) -> Report {
    for Lack { case, .. } in A::LACKS {
        assert!(CASES.iter().any(|known| known.name == *case), "no case is called {case}");
    }
    Log::of_all_threads();
    let runtime = Builder::new_multi_thread()
        .thread_name(THREADS)
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .unwrap();
    let lines = runtime.block_on(play(adapter));
    runtime.shutdown_background();
    Report { adapter: A::NAME, lines }
}

/// So many threads play, so that servers and callers meet at once.
const WORKERS: usize = 4;
/// So many cases at once, each with a server or several.
const AT_ONCE: usize = 16;
/// A case that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(30);

async fn play<A: Adapter>(adapter: A) -> Vec<(&'static str, &'static str, Outcome)> {
    let adapter = Arc::new(adapter);
    let serve = Arc::new(move |app| -> Serving {
        let adapter = Arc::clone(&adapter);
        Box::pin(async move { adapter.serve(app).await })
    });
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut playing = JoinSet::new();
    for (index, (case, network)) in CASES.iter().zip(1..).enumerate() {
        let (places, serve) = (Arc::clone(&places), Arc::clone(&serve));
        playing.spawn(async move {
            let _place = places.acquire().await.unwrap();
            let stage = Stage { serve, clock: ManualClock::new(), network };
            (index, outcome(case, A::LACKS, stage).await)
        });
    }
    let mut outcomes = playing.join_all().await;
    outcomes.sort_by_key(|(index, _)| *index);
    CASES.iter().zip(outcomes).map(|(case, (_, outcome))| (case.name, case.about, outcome)).collect()
}

async fn outcome(case: &Case, lacks: &'static [Lack], stage: Stage) -> Outcome {
    if let Some(lack) = lacks.iter().find(|lack| lack.case == case.name) {
        return Outcome::NotApplicable(lack.reason);
    }
    match timeout(LONGEST, caught((case.play)(stage))).await {
        Ok(Ok(())) => Outcome::Passed,
        Ok(Err(how)) => Outcome::Failed(how),
        Err(_) => Outcome::Failed(format!("it hangs: not over after {LONGEST:?}")),
    }
}
