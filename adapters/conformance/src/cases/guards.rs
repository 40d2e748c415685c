//! Internal routes.

use tollgate_http::{Mode, Quota};

use crate::app::{App, TOKEN};
use crate::case::cases;
use crate::request::Request;

/// The two ways to guard a route: around it, and in its handler.
const ROUTES: [&str; 2] = ["/internal", "/internal/name"];

cases! {
    /// Internal routes are for services, by a guard around them and by one in the handler.
    async fn guards_let_services_in(stage) {
        let server = stage.serve_five().await;
        for (route, body) in ROUTES.into_iter().zip(["ours", "edge"]) {
            let reply = server.caller(1).send(&Request::get(route).ours()).await;
            assert_eq!((reply.status, reply.text()), (200, body));
        }
    }

    /// Strangers get 401 from internal routes, with a challenge, and are told where they stand.
    async fn strangers_get_401(stage) {
        let server = stage.serve_five().await;
        let caller = server.caller(1);
        for (route, remaining) in ROUTES.into_iter().zip([4, 3]) {
            let reply = caller.get(route).await;
            assert_eq!(reply.status, 401);
            let challenge = r#"Token realm="internal", header="x-internal-token""#;
            assert_eq!(reply.line("www-authenticate"), challenge);
            assert_eq!(reply.line("ratelimit"), format!("\"default\";r={remaining};t=60"));
            assert!(!reply.text().contains("ours"));
        }
        assert!(!caller.send(&Request::head("/internal")).await.line("www-authenticate").is_empty());
    }

    /// The guard of another gate looks for itself: the limiter does not know the token, and counts it.
    async fn another_gates_decision_is_not_heeded(stage) {
        let clock = tollgate_http::Clock::Manual(stage.clock.clone());
        let limiter = tollgate_http::Gate::builder(Quota::per_minute(5)).clock(clock).build().unwrap();
        let app = App { gate: limiter.into(), ..stage.five().into() };
        let server = stage.serve(app).await;
        for (host, route) in (1..).zip(ROUTES) {
            let caller = server.caller(host);
            assert_eq!(caller.repeat(&Request::get(route).ours(), 6).await, [200, 200, 200, 200, 200, 429]);
        }
    }

    /// A gate that knows a token opens no other gate's routes.
    async fn another_gates_token_opens_nothing(stage) {
        let guard = tollgate_http::Gate::builder(Quota::per_minute(5));
        let guard = guard.service("edge", "another-secret-of-32-bytes-......").build().unwrap();
        let server = stage.serve(App { guard: guard.into(), ..stage.five().into() }).await;
        for route in ROUTES {
            let reply = server.caller(1).send(&Request::get(route).ours()).await;
            assert!(reply.status == 401 && reply.tells_nothing(), "{reply:?}");
        }
    }

    /// The credential can be taken from the request: guards go by the decision, and handlers don't see it.
    async fn the_credential_is_stripped(stage) {
        let server = stage.serve(stage.five().strip_credential()).await;
        let caller = server.caller(1);
        for route in ROUTES {
            assert_eq!(caller.send(&Request::get(route).ours()).await.status, 200, "{route}");
        }
        for token in [TOKEN, "made up"] {
            let told = caller.send(&Request::get("/decision").token(token)).await.json();
            assert_eq!((&told["credential"], &told["forged"]), (&false.into(), &(token != TOKEN).into()));
        }
        let both = Request::get("/decision").ours().token("made up");
        assert_eq!(caller.send(&both).await.json()["credential"], false);
    }

    /// Bearer tokens of users stay where services' own are taken.
    async fn users_tokens_stay(stage) {
        let server = stage.serve(stage.five().bearer().strip_credential()).await;
        let caller = server.caller(1);
        let with = |value: String| Request::get("/decision").field("authorization", value);
        let told = caller.send(&with(format!("Bearer {TOKEN}"))).await.json();
        assert_eq!((&told["credential"], &told["service"]), (&false.into(), &"edge".into()));
        for users in ["Bearer a-token-of-some-user", "Basic dXNlcjpwYXNz"] {
            assert_eq!(caller.send(&with(users.into())).await.json()["credential"], true, "{users}");
        }
    }

    /// Handlers see the credential, unless it is to be taken.
    async fn the_credential_is_left(stage) {
        let server = stage.serve_five().await;
        let told = server.caller(1).send(&Request::get("/decision").ours()).await.json();
        assert_eq!((&told["credential"], &told["service"]), (&true.into(), &"edge".into()));
    }

    /// Internal routes stay closed in every mode.
    async fn guards_hold_in_every_mode(stage) {
        for mode in [Mode::Enforce, Mode::Shadow, Mode::Off] {
            for gate in [stage.five(), stage.five().strip_credential()] {
                let server = stage.serve(gate.mode(mode)).await;
                for route in ROUTES {
                    let caller = server.caller(1);
                    assert_eq!(caller.get(route).await.status, 401, "{mode:?}");
                    assert_eq!(
                        caller.send(&Request::get(route).token("made up")).await.status,
                        401,
                        "{mode:?}"
                    );
                    assert_eq!(caller.send(&Request::get(route).ours()).await.status, 200, "{mode:?}");
                }
            }
        }
    }
}
