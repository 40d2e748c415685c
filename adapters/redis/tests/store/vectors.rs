use tollgate::{Nanos, Quota, Verdict};

use crate::support::{TestServer, connected, key, node};

/// The same vectors as the core's.
#[tokio::test]
async fn scripts_answer_and_store_as_the_vectors_say() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    let lines = include_str!("states.tsv").lines().skip(1);
    let mut checked = 0;
    for (number, line) in (1..).zip(lines) {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[kind, limit, window, burst, state, now, cost, after, answer, remaining, wait] =
            fields.as_slice()
        else {
            panic!("{line}")
        };
        let quota = Quota::new(limit.parse().unwrap(), Nanos(window.parse().unwrap()));
        let quota = match kind {
            "sliding" => quota.sliding(),
            "gcra" => quota.burst(burst.parse().unwrap()),
            _ => quota,
        };
        let limiter = store.limiter("v", quota).capacity(64).strict().build().unwrap();
        // A charge of nothing says where the state is, which a store of our own can't be told.
        let caller = key(number);
        let name = server.key_after(|| limiter.check(caller, 1, Nanos(now.parse().unwrap()))).await;
        if state == "-" {
            server.command(&["DEL", &name]);
        } else {
            server.command(&["SET", &name, state]);
        }
        let verdict = limiter.check(caller, cost.parse().unwrap(), Nanos(now.parse().unwrap())).await;
        let told = match verdict {
            Verdict::Admitted(standing) => ("admitted", standing.remaining, standing.resets_in),
            Verdict::Refused(refusal) => ("refused", 0, refusal.retry_after),
            Verdict::Exempt(_) => panic!("nobody is exempt"),
        };
        let expected = (answer, remaining.parse().unwrap(), Nanos(wait.parse().unwrap()));
        assert_eq!(told, expected, "{line}");
        let stored = server.command(&["GET", &name]);
        let stored = stored.split_once("\r\n").map_or("-", |(_, stored)| stored);
        assert_eq!(stored, after, "{line}");
        checked += 1;
    }
    assert_eq!(checked, 66);
}
