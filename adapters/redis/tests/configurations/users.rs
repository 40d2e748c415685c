use tollgate::Quota;
use tollgate_redis::{Server, Store};

use crate::support::{DEADLINE, KEYER, SECOND, TestServer, connected, key};

/// A user that may do what the scripts do under one prefix, and nothing else; and one that may not even ask for the time.
#[tokio::test]
async fn a_user_with_few_rights_is_enough() {
    let Some(server) = TestServer::start(&[]) else { return };
    let rights = "~limits:* +evalsha +script|load +get +set +zadd +zremrangebyscore +zrange +expire +client";
    for (user, time, quota) in
        [("timed", "+time", Quota::per_hour(3)), ("timeless", "-time", Quota::per_hour(3).sliding())]
    {
        let mut words = vec!["ACL", "SETUSER", user, "on", ">secret", "resetkeys"];
        words.extend(rights.split(' '));
        words.push(time);
        assert!(server.command(&words).starts_with("+OK"));
        let address = Server::single(server.address()).user(user, "secret");
        let store = connected(Store::builder(address, &KEYER).prefix("limits").wait(DEADLINE)).await;
        let limiter = store.limiter("users", quota).capacity(64).strict().build().unwrap();
        for passes in [true, true, true, false] {
            assert_eq!(limiter.check(key(1), 1, SECOND).await.passes(), passes, "{user}");
        }
        assert!(limiter.clear(key(1), SECOND).await);
        assert_eq!(store.counts().in_outage, 0, "{user}");
    }
}

/// The address may carry the user, too.
#[tokio::test]
async fn a_password_in_the_address() {
    let Some(server) = TestServer::start(&["--requirepass", "secret"]) else { return };
    let address = format!("redis://:secret@127.0.0.1:{}", server.port);
    let store = connected(Store::builder(Server::single(address), &KEYER).wait(DEADLINE)).await;
    let limiter = store.limiter("p", Quota::per_hour(1)).capacity(64).build().unwrap();
    assert!(limiter.check(key(1), 1, SECOND).await.passes());
    assert!(!limiter.check(key(1), 1, SECOND).await.passes());
    let wrong = Server::single(server.address());
    let store = Store::builder(wrong, &KEYER).build().unwrap();
    assert!(tokio::time::timeout(std::time::Duration::from_millis(50), store.connected()).await.is_err());
}
