use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use tollgate_http::{Decision, Gate, GateBuilder, Identity, Verdict};

use crate::rule::Rule;
use crate::scene::Scene;

/// The standard application, as the suite wants it this time.
///
/// Its routes take any method:
///
/// | route | what it does |
/// |---|---|
/// | `/` | answers with [`Scene::greet`] |
/// | `/internal` | `ours`, behind the adapter's guard with the gate `guard` |
/// | `/internal/name` | the service's name, as the adapter's extractor finds it with `guard` |
/// | `/echo` | the number of bytes of the request's body, which may be some megabytes |
/// | `/status/{code}` | an empty response with this status |
/// | `/slow` | waits in [`Scene::slow`] and answers with what it returns |
/// | `/fields` | `own`, with [`OWN_FIELDS`] |
/// | `/users/{id}` | the id |
/// | `/decision` | [`tell`], with what the handler was handed |
/// | `/throttled` | the adapter's report of throttled callers, of `gate` |
///
/// Anything else is the framework's `404`. All of it is behind `gate`, and that behind `outer` if there is one.
#[derive(Clone, Debug)]
pub struct App {
    /// The gate around all routes.
    pub gate: Arc<Gate>,
    /// Another one around that.
    pub outer: Option<Arc<Gate>>,
    /// The gate that guards the internal routes: the same, unless it matters.
    pub guard: Arc<Gate>,
    /// The terms that `gate` decides on, if they are not the ordinary ones.
    pub rule: Option<Rule>,
    /// The address to listen on; the port is any that is free. `::` takes IPv4 as well.
    pub listen: IpAddr,
    /// Whether the server tells the gate its peers' addresses. Without, it is put together wrongly.
    pub tells_peers: bool,
    /// How many workers the server has, if its framework counts them.
    pub workers: usize,
    /// What the handlers share with the suite.
    pub scene: Arc<Scene>,
}

/// The secret of the service `edge`, in the default field.
pub const TOKEN: &str = "the-internal-token-of-32-bytes..";

/// What the application itself says at `/fields`, each in a line of its own.
pub const OWN_FIELDS: [(&str, &str); 5] = [
    ("ratelimit-policy", "\"own\";q=1"),
    ("ratelimit", "\"own\";r=1"),
    ("retry-after", "7"),
    ("x-ratelimit-limit", "1"),
    ("cache-control", "max-age=60"),
];

impl App {
    /// The application behind one gate, on ordinary terms.
    pub fn new(gate: impl Into<Arc<Gate>>) -> Self {
        let gate = gate.into();
        Self {
            guard: Arc::clone(&gate),
            gate,
            outer: None,
            rule: None,
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            tells_peers: true,
            workers: 1,
            scene: Arc::default(),
        }
    }
}

impl From<GateBuilder> for App {
    fn from(gate: GateBuilder) -> Self {
        Self::new(gate.build().unwrap())
    }
}

/// What a handler sees of a request, as JSON: the decision that it is handed, and whether the field
/// `x-internal-token` or `authorization` is there.
pub fn tell(decision: Option<&Decision>, has_credential: bool) -> String {
    let origin = decision.and_then(Decision::origin);
    let standing = |decision: &Decision| match decision.verdict() {
        Some(Verdict::Admitted(standing)) => Some(standing.remaining),
        _ => None,
    };
    serde_json::json!({
        "decided": decision.is_some(),
        "service": decision.and_then(|decision| decision.identity().service()),
        "forged": decision.is_some_and(|decision| *decision.identity() == Identity::Forged),
        "address": origin.map(|origin| origin.address()),
        "key": origin.map(|origin| origin.to_string()),
        "counted": decision.is_some_and(Decision::is_counted),
        "over": decision.is_some_and(Decision::is_over_limit),
        "remaining": decision.and_then(standing),
        "credential": has_credential,
    })
    .to_string()
}
