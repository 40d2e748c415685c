//! The platform's API, with its data in memory.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::routing::{get, put};
use axum::{Json, Router};
use bytes::Bytes;
use serde_json::{Value, json};
use tollgate_axum::{Decided, Gate, RequireInternalLayer, TollgateLayer};

/// Published apps, each with a custom domain and a preview.
pub(crate) const APPS: usize = 60;
const LONGEST_ID: usize = 128;
const MOST_TURNS: usize = 10_000;
const LARGEST_TURN: usize = 64 * 1024;

#[derive(Default)]
struct Data {
    /// What each running turn saved last.
    turns: RwLock<HashMap<String, Bytes>>,
}

/// The API behind `limiter`. Its internal routes check the internal token by `guard`; where that is the same gate,
/// what the limiter found out is not looked at twice.
pub(crate) fn api(limiter: Arc<Gate>, guard: Arc<Gate>) -> Router {
    let internal = Router::new()
        .route("/internal/domains/{domain}", get(domain))
        .route("/internal/turns/{id}", put(save_turn))
        .route("/internal/previews/{id}/access", get(preview_access))
        .layer(DefaultBodyLimit::max(LARGEST_TURN))
        .route_layer(RequireInternalLayer::new(guard))
        .with_state(Arc::new(Data::default()));
    Router::new()
        .route("/", get(|| async { Json(json!({"service": "the platform's API"})) }))
        .route("/caller", get(caller))
        .merge(internal)
        .layer(TollgateLayer::new(limiter))
}

/// Who the limiter takes the caller for.
async fn caller(Decided(decision): Decided) -> Json<Value> {
    let origin = decision.origin();
    Json(json!({
        "address": origin.map(|origin| origin.address()),
        "key": origin.map(|origin| origin.to_string()),
    }))
}

/// Which published app lives on a custom domain, if any.
async fn domain(Path(domain): Path<String>) -> Json<Value> {
    let app = number("app-", ".example", &domain).map(|app| format!("app-{app}"));
    Json(json!({"domain": domain, "app": app}))
}

/// Whether a preview may be opened; one that does not exist may not.
async fn preview_access(Path(id): Path<String>) -> Json<Value> {
    let access = number("preview-", "", &id).is_some();
    Json(json!({"preview": id, "access": access}))
}

/// Saves a running turn's progress.
async fn save_turn(
    State(data): State<Arc<Data>>,
    Path(id): Path<String>,
    progress: Bytes,
) -> (StatusCode, Json<Value>) {
    if id.len() > LONGEST_ID {
        return (
            StatusCode::BAD_REQUEST,
            Json(json!({"error": format!("an id has at most {LONGEST_ID} bytes")})),
        );
    }
    let mut turns = data.turns.write().unwrap_or_else(PoisonError::into_inner);
    if turns.len() >= MOST_TURNS && !turns.contains_key(&id) {
        return (StatusCode::INSUFFICIENT_STORAGE, Json(json!({"error": "too many turns are running"})));
    }
    let saved = progress.len();
    // A copy of its own size, since a body may be a part of a larger buffer.
    turns.insert(id.clone(), Bytes::copy_from_slice(&progress));
    (StatusCode::OK, Json(json!({"turn": id, "saved": saved})))
}

/// The number of an app between two parts of a name.
fn number(before: &str, after: &str, name: &str) -> Option<usize> {
    let number = name.strip_prefix(before)?.strip_suffix(after)?.parse().ok()?;
    (number < APPS).then_some(number)
}
