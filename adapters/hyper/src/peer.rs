/// How the peer's address gets to a gate.
pub(crate) const ADVICE: &str = "with hyper, pass the address that `TcpListener::accept` returned with the connection: \
     `tollgate.wrap(service, Some(peer.ip()))`.";
