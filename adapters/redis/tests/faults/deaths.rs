use std::process::{Command, Stdio};

use crate::support::outages::Policies;
use crate::support::{TestServer, eventually, key};

/// Nobody has a server yet: a node starts without, and finds it later.
#[tokio::test]
async fn a_node_starts_before_its_server() {
    let Some(mut server) = TestServer::start(&[]) else { return };
    server.kill();
    let address = tollgate_redis::Server::single(server.address());
    let store = tollgate_redis::Store::builder(address, &crate::support::KEYER)
        .nodes(3)
        .probe(std::time::Duration::from_millis(10))
        .build()
        .unwrap();
    let policies = Policies::of(&store);
    policies.hold(key(1)).await;
    server.restart();
    policies.recovered("no server at first", key(1)).await;
}

#[tokio::test]
async fn a_server_that_dies_and_comes_back_empty() {
    let Some(mut server) = TestServer::start(&[]) else { return };
    let policies = Policies::in_place(server.port).await;
    server.kill();
    policies.hold(key(1)).await;
    server.restart();
    policies.recovered("killed and restarted", key(1)).await;
    assert!(server.lives().iter().all(|&(_, life)| life > 0), "{:?}", server.lives());
}

/// Another client's script keeps the server busy, and the server is killed in the middle of it.
#[tokio::test]
async fn a_server_that_is_killed_in_a_script() {
    let Some(mut server) = TestServer::start(&[]) else { return };
    let policies = Policies::in_place(server.port).await;
    let mut busy = busy(&server);
    policies.hold(key(1)).await;
    server.kill();
    busy.wait().unwrap();
    server.restart();
    policies.recovered("killed in a script", key(1)).await;
}

#[tokio::test]
async fn a_script_of_another_that_never_ends() {
    let Some(server) = TestServer::start(&["--lua-time-limit", "100"]) else { return };
    let policies = Policies::in_place(server.port).await;
    let mut busy = busy(&server);
    policies.hold(key(1)).await;
    eventually("the script is killed", async || server.command(&["SCRIPT", "KILL"]).starts_with("+OK")).await;
    busy.wait().unwrap();
    policies.recovered("a script that never ends", key(1)).await;
    assert!(server.lives().iter().all(|&(_, life)| life > 0), "{:?}", server.lives());
}

fn busy(server: &TestServer) -> std::process::Child {
    Command::new("redis-cli")
        .args(["-p", &server.port.to_string(), "EVAL", "while true do end", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
