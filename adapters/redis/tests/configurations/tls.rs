use std::fs;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tollgate::Quota;
use tollgate_redis::{Server, Store, TlsCertificates};

use crate::support::{DEADLINE, KEYER, SECOND, TestServer, connected, free_port, key};

#[tokio::test]
async fn an_encrypted_connection() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let mut root = CertificateParams::new(vec![]).unwrap();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root_key = KeyPair::generate().unwrap();
    let root_certificate = root.self_signed(&root_key).unwrap();
    let issuer = Issuer::new(root, root_key);
    let server_key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".into()]).unwrap().signed_by(&server_key, &issuer).unwrap();
    fs::write(path("root.pem"), root_certificate.pem()).unwrap();
    fs::write(path("server.pem"), certificate.pem()).unwrap();
    fs::write(path("server.key"), server_key.serialize_pem()).unwrap();

    let port = free_port().to_string();
    let files = [path("root.pem"), path("server.pem"), path("server.key")];
    let arguments = [
        ["--tls-port", &port],
        ["--tls-ca-cert-file", &files[0]],
        ["--tls-cert-file", &files[1]],
        ["--tls-key-file", &files[2]],
        ["--tls-auth-clients", "no"],
    ];
    let Some(_server) = TestServer::start(arguments.as_flattened()) else { return };
    let root = Some(root_certificate.pem().into_bytes());
    let address = Server::single(format!("rediss://localhost:{port}"))
        .certificates(TlsCertificates { client_tls: None, root_cert: root });
    let store = connected(Store::builder(address, &KEYER).wait(DEADLINE)).await;
    let limiter = store.limiter("t", Quota::per_hour(1)).capacity(64).build().unwrap();
    assert!(limiter.check(key(1), 1, SECOND).await.passes());
    assert!(!limiter.check(key(1), 1, SECOND).await.passes());

    // A server that the system's roots don't vouch for is none of ours.
    let address = Server::single(format!("rediss://localhost:{port}"));
    let store = Store::builder(address, &KEYER).build().unwrap();
    assert!(tokio::time::timeout(std::time::Duration::from_millis(200), store.connected()).await.is_err());
}
