use tollgate::{Basis, Verdict};

use crate::support::outages::{LIMIT, Policies};
use crate::support::{TestServer, connected, eventually, key, node};

#[tokio::test]
async fn all_keys_are_gone() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    let policies = Policies::of(&store);
    let mut passed = [0, 0];
    for (round, passed) in passed.iter_mut().enumerate() {
        while policies.check(&policies.share, key(1)).await.passes() {
            *passed += 1;
        }
        assert!(server.command(&["FLUSHALL"]).starts_with("+OK"));
        if round == 0 {
            eventually("the node asks again", async || {
                policies.share.try_check(key(1), 1, policies.now()).is_none()
            })
            .await;
        }
    }
    assert_eq!(passed, [LIMIT, LIMIT]);
    assert_eq!(store.counts().in_outage, 0);
}

#[tokio::test]
async fn all_scripts_are_gone() {
    let Some(server) = TestServer::start(&[]) else { return };
    let store = connected(node(&server)).await;
    let policies = Policies::of(&store);
    for caller in 0..10 {
        assert!(server.command(&["SCRIPT", "FLUSH"]).starts_with("+OK"));
        let Verdict::Admitted(standing) = policies.check(&policies.closed, key(caller)).await else {
            panic!()
        };
        assert_eq!(standing.basis, Basis::Own);
        assert!(server.command(&["SCRIPT", "FLUSH"]).starts_with("+OK"));
        assert!(policies.closed.refund(&standing, policies.now()).await);
    }
    assert_eq!(store.counts().in_outage, 0);
}

#[tokio::test]
async fn a_server_without_memory() {
    let Some(server) = TestServer::start(&["--maxmemory-policy", "noeviction"]) else { return };
    let policies = Policies::in_place(server.port).await;
    assert!(server.command(&["CONFIG", "SET", "maxmemory", "1"]).starts_with("+OK"));
    policies.hold(key(1)).await;
    assert!(server.command(&["CONFIG", "SET", "maxmemory", "0"]).starts_with("+OK"));
    policies.recovered("out of memory", key(1)).await;
    assert!(server.lives().iter().all(|&(_, life)| life > 0), "{:?}", server.lives());
}

/// A replica that still takes connections, as a master does after a failover.
#[tokio::test]
async fn a_server_that_may_no_longer_be_written_to() {
    let Some(server) = TestServer::start(&[]) else { return };
    let policies = Policies::in_place(server.port).await;
    let nowhere = crate::support::free_port().to_string();
    assert!(server.command(&["REPLICAOF", "127.0.0.1", &nowhere]).starts_with("+OK"));
    policies.hold(key(1)).await;
    assert!(server.command(&["REPLICAOF", "NO", "ONE"]).starts_with("+OK"));
    policies.recovered("read-only", key(1)).await;
}
