//! The platform's API, with its data in memory, whichever framework serves it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use serde_json::{Value, json};
use tollgate_axum::{Decision, Gate};

use crate::exposition::Exposition;

/// Published apps, each with a custom domain and a preview.
pub(crate) const APPS: usize = 60;
pub(crate) const LARGEST_TURN: usize = 64 * 1024;
const LONGEST_ID: usize = 128;
const MOST_TURNS: usize = 10_000;

/// The API behind a gate.
///
/// | route | for | answers |
/// |---|---|---|
/// | `GET /` | everybody | what this is |
/// | `GET /caller` | everybody | who the limiter takes the caller for |
/// | `GET /metrics` | everybody | what is counted, for Prometheus |
/// | `GET /throttled` | own services, and people who know the token | who is being throttled, outside of the limits |
/// | `GET /internal/domains/{domain}` | own services | which published app lives on a custom domain |
/// | `GET /internal/previews/{id}/access` | own services | whether a preview may be opened |
/// | `PUT /internal/turns/{id}` | own services | saves a running turn's progress, up to 64 KiB |
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) limiter: Arc<Gate>,
    /// Checks the internal token of internal routes; where it is the limiter, what that found out is not looked at twice.
    pub(crate) guard: Arc<Gate>,
    pub(crate) data: Arc<Data>,
    exposition: Option<Exposition>,
}

#[derive(Default)]
pub(crate) struct Data {
    /// What each running turn saved last.
    turns: RwLock<HashMap<String, Bytes>>,
}

impl Api {
    pub(crate) fn new(limiter: Arc<Gate>, guard: Arc<Gate>) -> Self {
        Self { limiter, guard, data: Arc::default(), exposition: None }
    }

    /// The same with an exposition of what is counted.
    pub(crate) fn with(self, exposition: Exposition) -> Self {
        Self { exposition: Some(exposition), ..self }
    }

    /// What is counted, up to now; empty if nothing is.
    pub(crate) fn metrics(&self) -> String {
        self.limiter.observe();
        self.exposition.as_ref().map(Exposition::text).unwrap_or_default()
    }
}

pub(crate) fn root() -> Value {
    json!({"service": "the platform's API"})
}

/// Who the limiter takes the caller for.
pub(crate) fn caller(decision: &Decision) -> Value {
    let origin = decision.origin();
    json!({
        "address": origin.map(|origin| origin.address()),
        "key": origin.map(|origin| origin.to_string()),
    })
}

/// Which published app lives on a custom domain, if any.
pub(crate) fn domain(domain: &str) -> Value {
    let app = number("app-", ".example", domain).map(|app| format!("app-{app}"));
    json!({"domain": domain, "app": app})
}

/// Whether a preview may be opened; one that does not exist may not.
pub(crate) fn preview_access(id: &str) -> Value {
    let access = number("preview-", "", id).is_some();
    json!({"preview": id, "access": access})
}

impl Data {
    /// Saves a running turn's progress; the status and the answer.
    pub(crate) fn save_turn(&self, id: &str, progress: &[u8]) -> (u16, Value) {
        if id.len() > LONGEST_ID {
            return (400, json!({"error": format!("an id has at most {LONGEST_ID} bytes")}));
        }
        let mut turns = self.turns.write().unwrap_or_else(PoisonError::into_inner);
        if turns.len() >= MOST_TURNS && !turns.contains_key(id) {
            return (507, json!({"error": "too many turns are running"}));
        }
        // A copy of its own size, since a body may be a part of a larger buffer.
        turns.insert(id.into(), Bytes::copy_from_slice(progress));
        (200, json!({"turn": id, "saved": progress.len()}))
    }
}

/// The number of an app between two parts of a name.
fn number(before: &str, after: &str, name: &str) -> Option<usize> {
    let number = name.strip_prefix(before)?.strip_suffix(after)?.parse().ok()?;
    (number < APPS).then_some(number)
}
