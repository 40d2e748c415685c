//! tollgate for axum.
