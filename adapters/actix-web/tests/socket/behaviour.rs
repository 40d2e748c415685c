//! Who is limited, and what handlers see.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread;

use actix_web::{App, web};
use tokio::task::JoinSet;
use tollgate_actix_web::{Gate, Quota, Tollgate};
use tollgate_conformance::{Caller, five};

use crate::support::{WORKERS, api, built, serve};

// Abuse 15 and 33: check, then consume; connections and workers share one budget.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_exactly_the_limit_passes_whatever_the_worker() {
    const LIMIT: usize = 100;
    let gate = built(Gate::builder(Quota::per_hour(100)));
    let workers = Arc::new(Mutex::new(HashSet::new()));
    let seen = Arc::clone(&workers);
    let server = serve(move || {
        let seen = Arc::clone(&seen);
        let handler = move || {
            seen.lock().unwrap().insert(thread::current().id());
            async { "hello" }
        };
        App::new().route("/", web::get().to(handler)).wrap(Tollgate::new(Arc::clone(&gate)))
    });
    for host in 1..=3 {
        let mut callers = JoinSet::new();
        for _ in 0..64 {
            // 64 connections from one address.
            callers.spawn(async move { Caller::from(host, server).statuses("/", 4).await });
        }
        let statuses = callers.join_all().await.concat();
        assert_eq!(statuses.len(), 256);
        assert_eq!(statuses.iter().filter(|&&status| status == 200).count(), LIMIT);
        assert_eq!(statuses.iter().filter(|&&status| status == 429).count(), 256 - LIMIT);
    }
    assert_eq!(workers.lock().unwrap().len(), WORKERS, "all workers answered");
}

// Abuse 33: clones, middleware and servers share one budget; dropping one changes nothing.
#[tokio::test]
async fn whoever_holds_the_gate_shares_its_budgets() {
    let gate = built(five().0);
    let tollgate = Tollgate::new(Arc::clone(&gate));
    let one = serve(move || {
        let resource = |path| web::resource(path).wrap(tollgate.clone()).to(|| async { "hello" });
        App::new().service(resource("/a")).service(resource("/b"))
    });
    let other = api(&gate);
    drop(Tollgate::new(gate));
    let mut statuses = Vec::new();
    for (server, path) in [(one, "/a"), (one, "/b"), (other, "/"), (one, "/a"), (other, "/")] {
        // A new connection each time.
        statuses.extend(Caller::from(1, server).statuses(path, 1).await);
    }
    assert_eq!(statuses, [200; 5]);
    assert_eq!(Caller::from(1, one).statuses("/b", 1).await, [429]);
    assert_eq!(Caller::from(1, other).statuses("/", 1).await, [429]);
}
