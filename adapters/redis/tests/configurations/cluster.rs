use std::process::Command;

use tollgate::{AllVerdict, Basis, Quota, Reason, Verdict};
use tollgate_redis::{Server, SharedLimits, Store};

use crate::support::{DEADLINE, KEYER, SECOND, TestServer, connected, eventually, key};

/// Three masters, of which each has a third of the slots.
async fn cluster() -> Option<Vec<TestServer>> {
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(TestServer::start(&["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"])?);
    }
    let addresses: Vec<String> = servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect();
    let made = Command::new("redis-cli")
        .args(["--cluster", "create"])
        .args(&addresses)
        .args(["--cluster-replicas", "0", "--cluster-yes"])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
    for server in &servers {
        eventually("the cluster is up", async || {
            server.command(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
        })
        .await;
    }
    Some(servers)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_holds_each_caller_to_the_limit() {
    let Some(servers) = cluster().await else { return };
    let server = Server::cluster(servers.iter().map(TestServer::address));
    let store = connected(Store::builder(server, &KEYER).nodes(2).wait(DEADLINE)).await;
    let limiter = store.limiter("c", Quota::per_hour(5)).capacity(1_024).build().unwrap();
    for caller in 0..60 {
        let mut passed = 0;
        while limiter.check(key(caller), 1, SECOND).await.passes() {
            passed += 1;
        }
        assert_eq!(passed, 5);
    }
    // All have some.
    let keys: Vec<usize> = servers.iter().map(|server| server.lives().len()).collect();
    assert!(keys.iter().all(|&keys| keys >= 5) && keys.iter().sum::<usize>() == 61, "{keys:?}");

    // Keys of one decision are in one slot, whoever's they are.
    let (second, network) = (Quota::per_hour(3), Quota::per_hour(50));
    let limits = SharedLimits::new([
        store.limiter("second", second).capacity(1_024).strict().build().unwrap(),
        store.limiter("network", network).capacity(1_024).strict().build().unwrap(),
    ])
    .unwrap();
    let mut passed = 0;
    for caller in 0..60 {
        for _ in 0..4 {
            match limits.check([key(caller), key(1_000)], 1, SECOND).await {
                AllVerdict::Admitted(_) => passed += 1,
                AllVerdict::Refused { by, .. } => assert!(by == 0 || passed == 50),
                AllVerdict::Exempt(_) => panic!("nobody is exempt"),
            }
        }
    }
    assert_eq!(passed, 50);
    assert_eq!(store.counts().in_outage, 0);
}

/// A part of the callers is without its server; they have their node's share, and the others lose nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_lost_a_node() {
    let Some(mut servers) = cluster().await else { return };
    // The cluster is to go on with the slots that it has.
    for server in &servers {
        assert!(server.command(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]).starts_with("+OK"));
    }
    let address = Server::cluster(servers.iter().map(TestServer::address));
    let store =
        connected(Store::builder(address, &KEYER).nodes(2).probe(std::time::Duration::from_millis(10))).await;
    let limiter = store.limiter("l", Quota::per_hour(4)).capacity(4_096).strict().build().unwrap();
    servers[2].kill();
    let (mut store_s, mut own, mut caller) = (0, 0, 0);
    eventually("both kinds of callers were seen", async || {
        caller += 1;
        match limiter.check(key(caller), 1, SECOND).await {
            Verdict::Admitted(standing) if standing.basis == Basis::Share => own += 1,
            Verdict::Admitted(_) => store_s += 1,
            Verdict::Refused(refusal) => assert_eq!(refusal.reason, Reason::Share),
            verdict @ Verdict::Exempt(_) => panic!("{verdict:?}"),
        }
        store_s > 20 && own > 5
    })
    .await;
}
