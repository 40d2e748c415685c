//! The socket's peer.

use std::net::Ipv6Addr;

use tollgate_http::Mode;

use crate::app::App;
use crate::case::cases;
use crate::log::Log;
use crate::request::Request;
use crate::rule::Rule;

cases! {
    /// A peer in mapped notation is its IPv4 address: one budget each, the same by whichever socket. (abuse 3)
    async fn mapped_peers(stage) {
        let dual = stage.serve(App { listen: Ipv6Addr::UNSPECIFIED.into(), ..stage.five().into() }).await;
        let plain = stage.serve(App::new(dual.app.gate.clone())).await;
        let told = dual.caller(1).get("/decision").await.json();
        assert_eq!(told["key"], format!("{}/32", dual.caller(1).address));
        assert_eq!(dual.caller(1).statuses("/", 2).await, [200; 2]);
        assert_eq!(plain.caller(1).left().await, 2);
        assert_eq!((dual.caller(1).left().await, dual.caller(2).left().await), (0, 5));
    }

    /// A server that does not tell its peers answers 500, and the log says why. (abuse 32)
    async fn an_unknown_peer_is_500(stage) {
        let server = stage.serve(App { tells_peers: false, ..stage.five().into() }).await;
        let reply = server.caller(1).get("/").await;
        assert!(reply.status == 500 && reply.tells_nothing(), "{reply:?}");
        assert_eq!(server.app.scene.greeted(), 0);
        let log = Log::of_all_threads().read();
        assert!(
            log.contains("the caller's address is not known") && log.contains("Answered with 500"),
            "{log}"
        );
    }

    /// Whoever is not counted by its address needs none: services, and what is skipped or counted by its user.
    async fn an_unknown_peer_may_pass(stage) {
        let app = App { tells_peers: false, rule: Some(Rule::ByFields), ..stage.five().into() };
        let server = stage.serve(app).await;
        let caller = server.caller(1);
        assert_eq!(caller.send(&Request::get("/internal").ours()).await.status, 200);
        assert_eq!(caller.send(&Request::get("/").field("x-skip", "1")).await.status, 200);
        let user = Request::get("/").field("x-caller", "user 7");
        assert_eq!(caller.repeat(&user, 6).await, [200, 200, 200, 200, 200, 429]);
        assert_eq!(caller.get("/").await.status, 500);
    }

    /// In shadow mode and off mode a request without a known peer passes uncounted.
    async fn an_unknown_peer_in_other_modes(stage) {
        for mode in [Mode::Shadow, Mode::Off] {
            let server = stage.serve(App { tells_peers: false, ..stage.five().mode(mode).into() }).await;
            assert_eq!(server.caller(1).statuses("/", 20).await, [200; 20]);
            assert!(server.caller(1).get("/").await.tells_nothing());
            assert_eq!(server.caller(1).get("/internal").await.status, 401);
        }
        assert!(Log::of_all_threads().read().contains("Passed uncounted, in shadow mode"));
    }
}
