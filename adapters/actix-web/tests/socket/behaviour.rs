//! Who is limited, and what handlers see.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread;

use actix_web::{App, HttpRequest, web};
use http::Method;
use tokio::task::JoinSet;
use tollgate_actix_web::{Decided, Gate, Identity, Quota, Tollgate, Verdict};
use tollgate_conformance::{Caller, HEADER, TOKEN, five};

use crate::support::{WORKERS, api, built, routes, serve};

// Abuse 7: two credential lines are never exempt.
#[tokio::test]
async fn two_credential_lines_are_never_exempt() {
    let caller = Caller::from(1, api(&built(five().0)));
    for second in [TOKEN, "made up", ""] {
        for lines in [[(HEADER, TOKEN), (HEADER, second)], [(HEADER, second), (HEADER, TOKEN)]] {
            let reply = caller.call(Method::GET, "/internal", &lines).await;
            assert!(matches!(reply.status, 401 | 429), "{}", reply.status);
        }
    }
    assert_eq!(caller.statuses("/", 1).await, [429], "they were counted");
}

// Abuse 8: only the exact field name counts, in any case.
#[tokio::test]
async fn aliases_of_the_header_are_no_credential() {
    let caller = Caller::from(1, api(&built(five().0)));
    for name in ["x_internal_token", "x.internal.token", "x-internal-token-", "internal-token"] {
        assert_eq!(caller.call(Method::GET, "/internal", &[(name, TOKEN)]).await.status, 401, "{name}");
    }
    assert_eq!(caller.call(Method::GET, "/internal", &[("X-INTERNAL-TOKEN", TOKEN)]).await.status, 200);
}

// actix-web's own idea of the caller's address is whatever the client writes.
#[tokio::test]
async fn no_header_changes_who_calls() {
    let caller = Caller::from(1, api(&built(five().0)));
    let mut statuses = Vec::new();
    for host in 1..=7 {
        let claim = format!("203.0.113.{host}");
        let forwarded = format!("for={claim}");
        let lines = [("x-forwarded-for", &*claim), ("forwarded", &*forwarded), ("x-real-ip", &*claim)];
        statuses.push(caller.call(Method::GET, "/", &lines).await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
}

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

#[tokio::test]
async fn handlers_are_told_who_calls() {
    async fn tell(Decided(decision): Decided) -> String {
        let origin = decision.origin().unwrap();
        let remaining = match decision.verdict() {
            Some(Verdict::Admitted(standing)) => Some(standing.remaining),
            _ => None,
        };
        let forged = *decision.identity() == Identity::Forged;
        format!("{:?} {forged} {} {origin} {remaining:?}", decision.identity().service(), origin.address())
    }
    let gate = built(five().0);
    let server =
        serve(move || App::new().route("/", web::get().to(tell)).wrap(Tollgate::new(Arc::clone(&gate))));
    let caller = Caller::from(9, server);
    let cases = [
        (vec![], "None false 127.1.0.9 127.1.0.9/32 Some(4)"),
        (vec![(HEADER, "made up")], "None true 127.1.0.9 127.1.0.9/32 Some(3)"),
        (vec![(HEADER, TOKEN)], r#"Some("edge") false 127.1.0.9 127.1.0.9/32 None"#),
    ];
    for (fields, expected) in cases {
        assert_eq!(caller.call(Method::GET, "/", &fields).await.body, expected);
    }
}

#[tokio::test]
async fn handlers_do_not_see_a_credential_that_is_stripped() {
    async fn tell(request: HttpRequest, decided: Decided) -> String {
        let name = decided.0.identity().service().unwrap_or_default().to_owned();
        format!("{name} {}", request.headers().contains_key(HEADER))
    }
    for (strips, expected) in [(true, ["edge false", " false"]), (false, ["edge true", " true"])] {
        let gate = five().0;
        let gate = built(if strips { gate.strip_credential() } else { gate });
        let server = serve(move || {
            App::new()
                .route("/tell", web::get().to(tell))
                .configure(routes(&gate))
                .wrap(Tollgate::new(Arc::clone(&gate)))
        });
        let caller = Caller::from(1, server);
        assert_eq!(caller.get_with("/tell", TOKEN).await.body, expected[0]);
        assert_eq!(caller.get_with("/tell", "made up").await.body, expected[1]);
        assert_eq!(caller.get_with("/internal", TOKEN).await.status, 200, "the guard goes by the decision");
        assert_eq!(caller.get_with("/internal", "made up").await.status, 401);
    }
}
